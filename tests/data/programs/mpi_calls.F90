! mpi_calls.F90 - the same few calls through the three Fortran bindings: -DBINDING=1 mpif.h, 2 use mpi, 3 use mpi_f08.
program mpi_calls
#if BINDING == 3
    use mpi_f08
    implicit none
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: status
#else
#if BINDING == 2
    use mpi
    implicit none
#else
    implicit none
    include 'mpif.h'
#endif
    integer :: requests(2), status(MPI_STATUS_SIZE)
#endif
    integer :: rank, other, ierr
    double precision :: a(100), b(200)
    a = 1
    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    other = 1 - rank
    if (rank == 0) then
        call MPI_Send(a, 100, MPI_DOUBLE_PRECISION, other, 1, MPI_COMM_WORLD, ierr)
        call MPI_Recv(b, 200, MPI_DOUBLE_PRECISION, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    else
        call MPI_Recv(b, 100, MPI_DOUBLE_PRECISION, other, 1, MPI_COMM_WORLD, status, ierr)
        call MPI_Send(a, 50, MPI_DOUBLE_PRECISION, other, 2, MPI_COMM_WORLD, ierr)
    end if
    call MPI_Send(a, 100, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 2, MPI_COMM_WORLD, ierr)
    call MPI_Irecv(b, 100, MPI_DOUBLE_PRECISION, other, 3, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Isend(a, 100, MPI_DOUBLE_PRECISION, other, 3, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    call MPI_Allreduce(MPI_IN_PLACE, a, 100, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    call MPI_Iallreduce(a, b, 100, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
    if (abs(b(1) - 4) > 1d-9) call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
    call MPI_Finalize(ierr)
    print '(a)', 'done'
end program

// MPI_Bcast as a rival: for each size given, `rounds` broadcasts from rank 0, checked. Prints a line per
// round: size in bytes, microseconds from the root's submission to the slowest rank's arrival.
// All ranks are on one host, so they share CLOCK_MONOTONIC. Buffers are reused: warm after the first round.
//   mpicc -O2 bcast.c -o bcast && mpirun -n 4 ./bcast 5 268435456
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double nowMicroseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int rounds = atoi(argv[1]);
  for (int arg = 2; arg < argc; arg++) {
    const long size = atol(argv[arg]);
    unsigned char *buffer = malloc(size);
    for (long i = 0; i < size; i++) buffer[i] = rank == 0 ? (unsigned char)(i * 31) : 0;
    for (int round = -1; round < rounds; round++) {
      MPI_Barrier(MPI_COMM_WORLD);
      double start = nowMicroseconds();
      MPI_Bcast(buffer, (int)size, MPI_BYTE, 0, MPI_COMM_WORLD);
      double arrived = nowMicroseconds(), last;
      MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
      MPI_Reduce(&arrived, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
      for (long i = 0; i < size; i += 4093) {
        if (buffer[i] != (unsigned char)(i * 31)) MPI_Abort(MPI_COMM_WORLD, 3);
      }
      if (rank == 0 && round >= 0) printf("%ld %.2f\n", size, last - start);
    }
    free(buffer);
  }
  MPI_Finalize();
  return 0;
}

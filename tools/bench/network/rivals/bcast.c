// MPI_Bcast as a rival between hosts: rounds of one size from rank 0, every byte checked. A line per round:
// seconds from the root's submission to the slowest rank's arrival (hosts of a lab share CLOCK_MONOTONIC).
// A first broadcast of 1 MiB opens the connections. Ranks of separate hosts, so memory is touched beforehand.
//   mpicc -O2 bcast.c -o bcast && mpirun ... ./bcast ROUNDS BYTES
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double nowSeconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static unsigned char pattern(long i) { return (unsigned char)(i * 31 + (i >> 12)); }

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int rounds = argc > 2 ? atoi(argv[1]) : 0;
  const long size = argc > 2 ? atol(argv[2]) : 0;
  const long warm = 1 << 20;
  unsigned char *buffer = malloc(size > warm ? size : warm);
  memset(buffer, 0, size > warm ? size : warm);
  MPI_Bcast(buffer, (int)warm, MPI_BYTE, 0, MPI_COMM_WORLD);
  for (int round = 0; round < rounds; round++) {
    if (rank != 0) memset(buffer, 0, size);
    else for (long i = 0; i < size; i++) buffer[i] = pattern(i);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = nowSeconds();
    MPI_Bcast(buffer, (int)size, MPI_BYTE, 0, MPI_COMM_WORLD);
    double arrived = nowSeconds(), last;
    MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Reduce(&arrived, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    for (long i = 0; i < size; i++) {
      if (buffer[i] != pattern(i)) MPI_Abort(MPI_COMM_WORLD, 3);
    }
    if (rank == 0) printf("%.6f\n", last - start);
  }
  free(buffer);
  MPI_Finalize();
  return 0;
}

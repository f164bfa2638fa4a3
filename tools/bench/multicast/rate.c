// MPI_Bcast in a loop as a rival of small messages: `count` broadcasts of `size` bytes from rank 0, each with another content,
// which every rank checks. Contents are parts of one pattern, as in packages/group/bench/small.mjs. Prints messages per second of each of `rounds` rounds, from the first submission until the last rank
// has the last message.
//   mpicc -O2 rate.c -o rate && mpirun -n 4 ./rate 5 200000 1
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VARIANTS 251

static double nowSeconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int rounds = atoi(argv[1]), count = atoi(argv[2]), size = atoi(argv[3]);
  unsigned char *buffer = malloc(size), *pattern = malloc(size + VARIANTS);
  for (int i = 0; i < size + VARIANTS; i++) pattern[i] = i;
  for (int round = -1; round < rounds; round++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = nowSeconds(), last;
    for (int i = 0; i < count; i++) {
      unsigned char *content = pattern + i % VARIANTS;
      MPI_Bcast(rank == 0 ? content : buffer, size, MPI_BYTE, 0, MPI_COMM_WORLD);
      if (rank != 0 && memcmp(buffer, content, size) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
    }
    double arrived = nowSeconds();
    MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Reduce(&arrived, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0 && round >= 0) printf("%.0f\n", count / (last - start));
  }
  MPI_Finalize();
  return 0;
}

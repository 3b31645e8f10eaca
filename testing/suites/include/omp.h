/* Declarations only: a program that calls them is linked with an OpenMP of its own. */
#pragma once
#ifdef __cplusplus
extern "C" {
#endif
void omp_set_num_threads(int);
int omp_get_num_threads(void);
int omp_get_max_threads(void);
int omp_get_thread_num(void);
int omp_get_num_procs(void);
double omp_get_wtime(void);
#ifdef __cplusplus
}
#endif

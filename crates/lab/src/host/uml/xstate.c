/* Registers of a processor with AMX, for a User Mode Linux that has no room for them.
 *
 *     UML ── ptrace(SETREGSET, XSTATE, 2.5 KiB) ─► [ the rest is what it was ] ─► the kernel, which takes 11 KiB
 *                                                                                 or nothing
 *
 * UML 6.1 keeps what its processes have in vector registers, in a buffer of the size that was large
 * enough before AMX. The kernel gives it as much as fits, but takes back the whole or nothing; so UML
 * ends where it starts its first process. What does not fit is read again and given back with the rest:
 * the tiles of AMX, which no process in UML may use.
 *
 * Preloaded into linux.uml, which is linked to the C library.
 */
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define XSTATE ((void *)0x202) /* NT_X86_XSTATE */

long ptrace(enum __ptrace_request request, ...)
{
	static char all[65536] __attribute__((aligned(64)));
	struct iovec whole = { all, sizeof all };
	va_list rest;
	va_start(rest, request);
	pid_t pid = va_arg(rest, pid_t);
	void *addr = va_arg(rest, void *);
	void *data = va_arg(rest, void *);
	va_end(rest);
	if (request == PTRACE_SETREGSET && addr == XSTATE) {
		struct iovec *part = data;
		long error = syscall(SYS_ptrace, PTRACE_GETREGSET, pid, addr, &whole);
		if (!error && whole.iov_len > part->iov_len) {
			memcpy(all, part->iov_base, part->iov_len);
			data = &whole;
		}
	}
	/* The system call writes what the C library's function returns. */
	if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER) {
		long word = 0;
		long error = syscall(SYS_ptrace, request, pid, addr, &word);
		return error ? error : word;
	}
	return syscall(SYS_ptrace, request, pid, addr, data);
}

# SPDX-License-Identifier: GPL-3.0-only
# vfs.bats - layer vfs measured, operation by operation, by each mechanism: in guests, whose kernels have them; and what a run says
# under a kernel that refuses them. One guest serves all tests of one kernel. IOT_KERNELS="6.1 6.12" chooses the kernels, rows of tests/vm/kernels.

load ../lib/helper

kernels=${IOT_KERNELS:-6.1}

setup() { cd "$root"; }

# Runs tests/lib/vfs-guest once for both mechanisms; what each prints follows a line "== MECHANISM". Layer block knows whom loop devices serve.
measured() { # KERNEL
	said=$BATS_FILE_TMPDIR/said.$1
	"$root/tests/vm/fetch" "$1" >/dev/null || skip "kernel $1 is missing: no download"
	[ -e "$said" ] && return
	make -s build/vfs-calls
	# shellcheck disable=SC2016 # the guest's shell
	tests/vm/run -t 1500 -m 2G "$1" -- bash -c 'for how in fentry kprobe; do echo "== $how"; tests/lib/vfs-guest $how vfs,block; done' \
		>"$said" 2>"$BATS_FILE_TMPDIR/errors" || fail "the guest: $(tail -n 20 "$BATS_FILE_TMPDIR/errors")"
}

of() { # MECHANISM WORDS: the rest of the lines that begin with these words
	sed -n "/^== $1\$/,/^== /p" "$said" | sed -n "s/^$2 //p"
}

each() { # FUNCTION
	local kernel how

	need_root
	need qemu-system-x86_64 qemu-system-x86
	need busybox busybox-static
	need cpio cpio
	need fio fio
	export BATS_TEST_TIMEOUT=3600
	for kernel in $kernels; do
		[ "$kernel" != running ] || continue
		measured "$kernel"
		for how in fentry kprobe; do
			"$1" "$how"
		done
	done
}

by_it() { # MECHANISM
	[[ " $(of "$1" 'fact layers') " = *[,\ ]vfs[,\ ]* ]] || fail "$1: layer vfs is not measured: $(of "$1" 'fact missing')"
	same "$1: target" "$(of "$1" 'fact programs vfs__vfs_unlink')" "$1/vfs_unlink"
	same "$1: lost" "$(of "$1" 'fact lost')" 0
	same "$1: untimed" "$(of "$1" 'fact untimed')" 0
}

@test "a guest measures the VFS by fentry, and by kprobe where that is preferred" { each by_it; }

equal() { # MECHANISM
	same "$1: kinds" "$(of "$1" wanted | wc -l)" 30
	same "$1: operations and bytes" "$(of "$1" had)" "$(of "$1" wanted)"
}

@test "in a guest each of 30 operations has as many, and as many bytes, as were made" { each equal; }

named() { # MECHANISM
	same "$1: operations with a path, with a second one" "$(of "$1" paths)" "vfs_access 3 0
vfs_chdir 34 0
vfs_getattr 59 0
vfs_link 47 47
vfs_mkdir 41 0
vfs_mknod 7 0
vfs_rename 37 37
vfs_rmdir 31 0
vfs_setattr 36 0
vfs_setxattr 20 0
vfs_symlink 53 53
vfs_truncate 42 0
vfs_unlink 43 0"
}

@test "in a guest measured operations on names have the paths of their calls" { each named; }

asked() { # MECHANISM
	same "$1: libaio and io_uring" "$(of "$1" 'asked fio')" "vfs_dio_write 78 319488
vfs_write 78 319488"
}

@test "in a guest asynchronous writes are counted when they complete: 37 and 41" { each asked; }

kernels() { # MECHANISM
	local core dumped

	same "$1: loop" "$(of "$1" 'kernel dd vfs_write loopback' | awk '{ print $2 }')" $((17 * 65536))
	core=$(of "$1" 'fact core')
	dumped=$(of "$1" 'kernel dumped vfs_write none' | awk '{ print $2 }')
	between "$1: bytes of the core dump" "${dumped:-0}" 4096 "$core"
}

@test "in a guest a loop device and a core dump have operations, and whom they serve" { each kernels; }

# A kretprobe has room for 10 calls at a time where there is one processor. 41 processes wait in one function.
missed() { # MECHANISM
	local counted lost all

	read -r counted lost all <<<"$(of "$1" waits)"
	same "$1: locks counted, and those lost" $((counted + lost)) 43
	same "$1: other losses" "$all" "$lost"
	if [ "$1" = fentry ]; then
		same "fentry: lost" "$lost" 0
	else
		between "$1: returns without room" "$lost" 1 42
	fi
}

@test "in a guest each return that a kretprobe had no room for is a loss: 43 in all" { each missed; }

@test "a mechanism that the kernel refuses is named with the reason; the run is derived" {
	need_root
	own_run
	"$trace" --layers default,vfs --prefer derived -o chosen.sqlite -- true
	same "asked for" "$(sqlite3 chosen.sqlite "SELECT reason FROM probe WHERE name = 'vfs__derived'")" "so was asked for: derived from the calls, and marked so"
	run "$trace" --layers default,vfs --prefer fentry -o run.sqlite -- true
	same "status" "$status" 0
	[ "$(sqlite3 run.sqlite "SELECT COUNT(*) FROM probe WHERE name = 'vfs__derived'")" = 1 ] || skip "a kernel that refuses fentry is missing"
	[[ $output = *"--prefer fentry: fentry: "*": layer vfs is derived from the calls"* ]]
	same "measured" "$(sqlite3 run.sqlite "SELECT layers FROM run WHERE ',' || layers || ',' LIKE '%,vfs,%'")" ""
	run "$trace" --prefer never -- true
	same "status" "$status" 2
}

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""sentences.py - runs of which the test knows each call, and what `iot-analyze` and `iot-analyze explain` may say of them.

usage: sentences.py run CASE FOLDER                        does the work of a case (this is what is traced)
       sentences.py check FS FOLDER DEVICE STORE [CASE..]  traces each case of a file system, and checks every sentence

A case is a function that works in a folder of its own. Its facts stand in the decorator: the calls that change files (`calls`), the files by
their names (a glob each), how many syncs its files had, and the words of KNOWN that it earns. Whatever a sentence claims needs one of these facts.
To add a case: a function with its facts.
"""
import ctypes, fnmatch, glob, json, mmap, os, re, shutil, signal, socket, sqlite3, subprocess, sys, time

CASES = {}
EVERY = ('ext4', 'xfs', 'btrfs')


def case(fs=('ext4',), calls='', files='*', syncs=0, facts='', says=(), before=None, heavy=False, needs=()):
    def keep(f):
        CASES[f.__name__] = dict(run=f, fs=fs, calls=set(calls.split()), files=files.split(), syncs=syncs, facts=set(facts.split()), says=says, before=before,
                                 heavy=heavy, needs=needs)
        return f
    return keep


def sh(*words, **more):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, **more)


def put(path, n, step=1 << 20, flags=0, call=None, byte=b'x'):
    """n bytes in writes of step; call: after each."""
    f = os.open(path, os.O_WRONLY | os.O_CREAT | flags)
    for at in range(0, n, step):
        os.write(f, byte * min(step, n - at))
        if call:
            call(f)
    os.close(f)


def made(n, size=4096):
    """Before a case: n files f0.. of a size, written back and out of the cache."""
    def make(at):
        for i in range(n):
            put(f'{at}/f{i}', size)
        os.sync()
        for i in range(n):
            cold(f'{at}/f{i}')
    return make


def cold(path):
    f = os.open(path, os.O_RDONLY)
    os.posix_fadvise(f, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(f)


# ---- the cases


@case(EVERY, 'openat write', 'f')
def buffered(at):
    put(f'{at}/f', 8 << 20)


@case(EVERY, 'openat write fsync', 'f', 1, heavy=True)
def one_fsync(at):
    put(f'{at}/f', 8 << 20)
    f = os.open(f'{at}/f', os.O_RDONLY)
    os.fsync(f)


@case(EVERY, 'openat write', 'f', 100, 'synced dsync again part', [r'larger writes to \S+/f, each of which is a sync'])
def bytes_dsync(at):
    put(f'{at}/f', 10000, 100, os.O_DSYNC)


@case(calls='openat write', files='f', syncs=100, facts='synced dsync')
def blocks_dsync(at):
    put(f'{at}/f', 100 * 4096, 4096, os.O_DSYNC)


@case(calls='openat write', files='f', facts='direct', heavy=True)
def direct(at):
    sh('dd', 'if=/dev/zero', f'of={at}/f', 'bs=64k', 'count=64', 'oflag=direct', 'status=none')


@case(calls='openat pwrite64 write fdatasync', files='f', syncs=200, facts='synced again', needs=('fio',), heavy=True)
def fio_random(at):
    # 200 of 256 blocks at random, one sync each; fio itself makes the file and syncs none of that
    put(f'{at}/f', 1 << 20)
    sh('fio', '--name', 'x', '--filename', f'{at}/f', '--ioengine', 'psync', '--rw', 'randwrite', '--bs', '4k', '--size', '1m', '--number_ios', '200',
       '--fdatasync', '1', '--overwrite', '1', cwd=at)


@case(('ext4', 'xfs'), 'openat io_uring write', 'f', facts='direct', needs=('fio',))
def fio_uring(at):
    sh('fio', '--name', 'x', '--filename', f'{at}/f', '--ioengine', 'io_uring', '--direct', '1', '--rw', 'write', '--bs', '16k', '--size', '4m', '--fallocate', 'none', cwd=at)


def table(at, mode, n=60, more=()):
    c = sqlite3.connect(f'{at}/app.db', isolation_level=None)
    for one in (*more, 'journal_mode=' + mode):
        c.execute('PRAGMA ' + one).fetchall()
    c.execute('CREATE TABLE t(i INTEGER PRIMARY KEY, x)')
    for i in range(n):
        c.execute('INSERT INTO t VALUES(?, ?)', (i, 'x' * 100))
    c.close()


SQL = 'openat write pwrite64 fsync fdatasync unlink ftruncate fchown'


@case(EVERY, SQL, 'app.db app.db-journal app.db-*', None, 'sqlite unlink synced again part')
def sqlite_delete(at):
    table(at, 'DELETE')


@case(EVERY, SQL, 'app.db app.db-wal app.db-shm app.db-journal app.db-*', None, 'sqlite unlink synced again part mmap wal truncate')
def sqlite_wal(at):
    table(at, 'WAL')


@case(calls=SQL, files='app.db app.db-wal app.db-shm app.db-journal app.db-*', syncs=None, facts='sqlite unlink synced again part mmap wal truncate pages', says=['whole pages of 64 KiB'])
def sqlite_wal_large(at):
    table(at, 'WAL', more=('page_size=65536',))


@case(calls=SQL, files='app.db', syncs=None, facts='sqlite synced again part', heavy=True)
def sqlite_memory(at):
    table(at, 'MEMORY')


@case(EVERY, 'openat write fsync', 'log', 150, 'synced again part')
def appends_fsync(at):
    put(f'{at}/log', 150 * 200, 200, os.O_APPEND, os.fsync)


@case(calls='openat write', files='log', facts='part')
def appends(at):
    put(f'{at}/log', 3000 * 200, 200, os.O_APPEND)


def replace(at, n, sync):
    for i in range(n):
        put(f'{at}/new', 5000, call=os.fsync if sync else None)
        os.rename(f'{at}/new', f'{at}/state')


@case(EVERY, 'openat write fsync rename', 'new state', 60, 'synced rename part')
def rename_fsync(at):
    replace(at, 60, True)


@case(EVERY, 'openat write rename', 'new state', 0, 'rename part')
def rename_only(at):
    replace(at, 60, False)


@case(EVERY, 'openat write ftruncate fsync', 'f', 60, 'truncate synced part again')
def truncates(at):
    f = os.open(f'{at}/f', os.O_WRONLY | os.O_CREAT)
    for i in range(60):
        os.ftruncate(f, 4096 * (i + 1))
        os.fsync(f)


@case(EVERY, 'read openat getdents64', 'f#', facts='atime reads', says=['noatime'], before=made(200))
def readers(at):
    for i in range(200):
        with open(f'{at}/f{i}', 'rb') as f:
            f.read()


@case(EVERY, 'openat write ftruncate mmap fault msync', 'f', 20, 'mmap synced truncate again')
def mapped_msync(at):
    f = os.open(f'{at}/f', os.O_RDWR | os.O_CREAT)
    os.ftruncate(f, 1 << 20)
    m = mmap.mmap(f, 1 << 20)
    for i in range(20):
        for p in range(0, 1 << 20, 65536):
            m[p] = i
        m.flush()


@case(calls='openat ftruncate mmap fault', files='f', facts='mmap truncate')
def mapped(at):
    f = os.open(f'{at}/f', os.O_RDWR | os.O_CREAT)
    os.ftruncate(f, 4 << 20)
    m = mmap.mmap(f, 4 << 20)
    for p in range(0, 4 << 20, 4096):
        m[p] = 1


@case(EVERY, 'openat write copy_file_range ioctl mkdir read utimensat fchmod', 'f# d *', facts='reads part', before=made(50, 20000))
def copies(at):
    os.mkdir(f'{at}/d')
    sh('sh', '-c', f'cp {at}/f* {at}/d')


def packed(at):
    os.mkdir(f'{at}/in')
    made(80, 3000)(f'{at}/in')
    sh('tar', '-C', at, '-cf', f'{at}/a.tar', 'in')
    os.sync()


@case(('ext4', 'btrfs'), 'openat write mkdir mkdirat utimensat fchmod fchown read unlinkat fchmodat close', 'in out f# a.tar', facts='reads part', before=packed)
def untar(at):
    os.mkdir(f'{at}/out')
    sh('tar', '-C', f'{at}/out', '-xf', f'{at}/a.tar')


@case(calls='openat write mkdir utimensat rename link unlink fsync unlinkat chmod fchmod read close mmap fault', files='repo .git * f#', syncs=None,
      facts='rename unlink reads part mmap synced again', before=made(30, 900), needs=('git',), heavy=True)
def git(at):
    env = dict(os.environ, GIT_CONFIG_NOSYSTEM='1', HOME=at, GIT_AUTHOR_NAME='a', GIT_AUTHOR_EMAIL='a@b', GIT_COMMITTER_NAME='a', GIT_COMMITTER_EMAIL='a@b')
    for words in (('init', '-q', '.'), ('add', '.'), ('commit', '-qm', 'x')):
        sh('git', '-c', 'gc.auto=0', *words, cwd=at, env=env)


@case(calls='openat write pwrite64 fsync fallocate ftruncate', files='img', syncs=None, facts='truncate synced again part direct', heavy=True)
def mkfs(at):
    sh('truncate', '-s', '24M', f'{at}/img')
    sh('mkfs.ext4', '-qF', f'{at}/img')


@case(EVERY, 'openat pwrite64', 'f', facts='part')
def sparse(at):
    f = os.open(f'{at}/f', os.O_WRONLY | os.O_CREAT)
    for i in range(50):
        os.pwrite(f, b'x', i * (1 << 20))


@case(calls='openat fallocate pwrite64 fdatasync', files='f', syncs=100, facts='synced')
def allocated(at):
    f = os.open(f'{at}/f', os.O_WRONLY | os.O_CREAT)
    os.posix_fallocate(f, 0, 100 * 4096)
    for i in range(100):
        os.pwrite(f, b'x' * 4096, i * 4096)
        os.fdatasync(f)


@case(EVERY, 'openat pwrite64 fsync', 'f0', 100, 'synced again', before=made(1, 65536))
def in_place(at):
    f = os.open(f'{at}/f0', os.O_WRONLY)
    for i in range(100):
        os.pwrite(f, b'y' * 4096, 4096 * (i % 16))
        os.fsync(f)


@case(EVERY, 'openat write unlink', 'f#', facts='unlink')
def removes(at):
    for i in range(150):
        put(f'{at}/f{i}', 4096)
        os.unlink(f'{at}/f{i}')


@case(calls='mkdir', files='d#')
def folders(at):
    for i in range(200):
        os.mkdir(f'{at}/d{i}')


@case(calls='openat write unlink read mmap fault lseek fallocate close chmod', files='a.c a a.o *', facts='unlink reads part again mmap', needs=('gcc',), heavy=True)
def compiles(at):
    for i in range(3):
        with open(f'{at}/a.c', 'w') as f:
            f.write('int main(void) { return %d; }\n' % i)
        sh('gcc', '-pipe', '-o', f'{at}/a{i}', f'{at}/a.c', env=dict(os.environ, TMPDIR=at))


@case(EVERY, '', 'f0', facts='reads', before=made(1, 16 << 20))
def read_once(at):
    with open(f'{at}/f0', 'rb', 0) as f:
        while f.read(1 << 20):
            pass


@case(EVERY, '', 'f0', facts='reads again_r', says=[r'^8 MiB of the 12(\.\d+)? MiB that devices read were read before in the run: \S+/f0 8 MiB; the cache had let go of it'], before=made(1, 4 << 20))
def read_again(at):
    for i in range(3):
        with open(f'{at}/f0', 'rb', 0) as f:
            while f.read(1 << 20):
                pass
        cold(f'{at}/f0')


@case(EVERY, '', 'f#', facts='reads', says=[r'were not used by calls.* of \S+/f# \(40 files\)|were not used by calls.*\S+/f# \(40 files\)'], before=made(40, 1 << 20))
def read_begins(at):
    """The first 32 KiB of files: what is read ahead is of no use"""
    for i in range(40):
        with open(f'{at}/f{i}', 'rb', 0) as f:
            for _ in range(8):
                f.read(4096)


@case(calls='link symlink chmod setxattr unlink openat fchmodat', files='f# s# l#', facts='unlink', before=made(40), heavy=True)
def names(at):
    for i in range(40):
        os.link(f'{at}/f{i}', f'{at}/l{i}')
        os.symlink('f', f'{at}/s{i}')
        os.chmod(f'{at}/f{i}', 0o600)
        os.setxattr(f'{at}/f{i}', 'user.a', b'x' * 100)


@case(('xfs', 'btrfs'), 'openat copy_file_range ioctl', 'f0 g', before=made(1, 1 << 20))
def shared(at):
    sh('cp', '--reflink=always', f'{at}/f0', f'{at}/g')


@case(EVERY, '', '')
def nothing(at):
    pass


@case(calls='', files='')
def memory(at):
    """Nothing but a file system in memory."""
    d = os.environ['IOT_TMPFS']
    put(f'{d}/x', 1000000, 100)


@case(calls='openat pwrite64', files='f', facts='part')
def over_again(at):
    """The same 64 KiB many times, without a sync: one time on the device"""
    f = os.open(f'{at}/f', os.O_WRONLY | os.O_CREAT)
    for i in range(100):
        os.pwrite(f, b'z' * 65536, 0)


# ---- what is checked

# words of a sentence, and the fact that it needs
KNOWN = [
    (r'fast_commit|mkfs\.ext4', 'fs:ext4'), (r'commit=60', 'fs:ext4'), (r'commit=120', 'fs:btrfs'), (r'\bext4\b', 'fs:ext4'), (r'\bxfs\b|\bXFS\b', 'fs:xfs'), (r'\bbtrfs\b', 'fs:btrfs'),
    (r'noatime|lazytime|times of access|access times', 'atime'),
    (r'PRAGMA|[Ss][Qq][Ll]ite|rollback', 'sqlite'), (r'full_page_writes|postgres', 'postgresql'), (r'etcd|redis|minio|mongo|rocksdb|mariadb|innodb', 'system'),
    (r'write-ahead log', 'wal'), (r'whole pages of', 'pages'),
    (r'through (a )?mapping|is mapped|stored to|stores to', 'mmap'),
    (r'ftruncate', 'truncate'), (r'rename', 'rename'), (r'\bunlink|removing|removed', 'unlink'),
    (r'direct I/O|larger requests|O_DIRECT', 'direct'), (r'O_DSYNC', 'dsync'),
    (r'read ahead|readahead|read_ahead|POSIX_FADV', 'reads'), (r'read again|read before|let go of', 'again_r'), (r'in vain|were not used', 'reads'),
    (r'same blocks written again', 'again'), (r'written in part|whole blocks', 'part'),
    (r'compact|larger memtable|erasure|replica|checkpoints', 'system'),
    (r'nobody|[Uu]nknown|NULL|n/a', 'never'), (r'at least|At least', 'never'), (r'\b0 bytes for', 'never'), (r'\b0\.000\b', 'never'), (r'-\d', 'never-negative'), (r'NAN|nan|inf\b', 'never'),
]
SYSTEM = '/usr/* /lib/* /bin/* /etc/* /root/* /proc/* /dev/null /tmp/*'.split()


class Wrong(Exception):
    pass


def size(text):
    n, unit = re.fullmatch(r'([\d.]+) (bytes?|KiB|MiB|GiB)', text).groups()
    return float(n) * {'b': 1, 'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}[unit[0]]


def paths(text):
    return [p.rstrip('.,;:)') for p in re.findall(r'(?<![\w.*])/(?:[^\s,;]+)', text)]


def check_sentence(c, at, device, text):
    """Each claim of a sentence against the facts of the case. Yields what is wrong."""
    facts = c['facts'] | {'fs:' + c['fs_now']}
    for pattern, fact in KNOWN:
        if re.search(pattern, re.sub(r'/\S+', '', text)) and fact not in facts:
            yield f'needs {fact!r}'
    for name in re.findall(r'\b(loop\d+|vd[a-z]\d*|dm-\d+|sd[a-z]\d*|nvme\w+)\b', text):
        if name != device:
            yield f'another disk: {name}'
    for path in paths(text):
        if any(fnmatch.fnmatch(path, s) for s in SYSTEM):
            continue
        if not path.startswith(at) or path[len(at):].strip('/') and not any(fnmatch.fnmatch(re.sub(r'\d+$', '#', os.path.basename(path)), g) or fnmatch.fnmatch(os.path.basename(path), g) for g in c['files']):
            yield f'a file that the run did not have: {path}'
    syncs = [int(n) for n in re.findall(r'(?<![\d.])(\d+) syncs?\b', text)] + [int(n) for n in re.findall(r'of (\d+) are of', text)]
    if c['syncs'] == 0 and re.search(r'\bsyncs?\b|\bflushed\b', text):
        yield 'a sync, where there was none'
    if c['syncs'] and any(n > c['syncs'] for n in syncs):
        yield f'{syncs} syncs, where there were {c["syncs"]}'
    for call in re.findall(r'Calls that (?:put|changed)[^:]*: (.*?)(?:\. To confirm|$)', text):
        for name in re.findall(r'(?:^|, )([a-z_0-9]+) (?:of /|\(\d+ %)', call):
            if name not in c['calls'] | {'writeback', 'other'}:
                yield f'a call that the run did not make: {name}'


def check_explain(c, at, device, rows):
    own = sum(r['bytes'] for r in rows if r['about'] == 'own')
    parts = [r for r in rows if r['about'] not in ('own', 'nothing', 'others')]
    shares = sum(r['share'] for r in rows if r['share'] is not None and r['about'] != 'own')
    if shares > 1.0001:
        yield f'shares are {shares:.4f} of the excess'
    beyond = max([size(m) for r in rows for m in re.findall(r'; ([\d.]+ (?:bytes?|KiB|MiB|GiB)) are beyond that', r['words'])] + [0])
    for r in rows:
        words = re.sub(r'\. Rests on: .*?(?=\. To confirm: |$)', '', r['words'])
        for wrong in check_sentence(c, at, device, words):
            yield f'{wrong}: {words}'
        if r['saving'] is not None and (r['saving'] > r['bytes'] or r['saving'] <= 0 or not r['experiment']):
            yield f'a saving of {r["saving"]} of {r["bytes"]} bytes: {words}'
        if r['bound'] != 'exact':
            yield f'a bound: {words}'
    for wanted in c['says']:
        if not any(re.search(wanted, r['words']) for r in rows):
            yield f'nothing says {wanted!r}'
    for r in parts:
        if r['experiment'] and r['share'] is not None and own and own + beyond <= 1.06 * own:
            yield f'advice at {(own + beyond) / own:.3f}: {r["experiment"]}'


def check_headline(c, at, device, rows):
    for r in rows:
        if r['about'] in ('finding', 'from', 'writes', 'reads'):
            # what others have another disk read without an owner makes a bound of what programs read from it
            for wrong in check_sentence(c, at, device, r['words'].replace('at least ', '') if ' read ' in r['words'] else r['words']):
                yield f'headline: {wrong}: {r["words"]}'
        if r['result'] == 'MISMATCH':
            yield f'headline: {r["words"]}'


def tool(name):
    return os.path.join(os.environ['IOT_BUILD'], name)


def report(store, *words):
    out = subprocess.run([tool('iot-analyze'), *words, store, '--format', 'json'], check=True, capture_output=True, text=True).stdout
    return list(json.loads(out)['tables'].values())[0]


def run_case(name, fs, folder, device, store):
    c, at = dict(CASES[name], fs_now=fs), f'{folder}/{name}'
    os.mkdir(at)
    if c['before']:
        c['before'](at)
    os.system(f'sync -f {folder}')
    if fs == 'xfs':  # structures of the case before would be written in place in this one, and are nobody's in it
        sh('fsfreeze', '--freeze', folder)
        sh('fsfreeze', '--unfreeze', folder)
    if 'atime' in c['facts']:
        sh('mount', '-o', 'remount,strictatime', folder)
        time.sleep(1.1)
    done = subprocess.run([tool('iot-trace'), '-q', '--label', f'{fs}-{name}', '-o', store, '--', sys.executable, '-B', os.path.abspath(__file__), 'run', name, at],
                          capture_output=True, text=True)
    if 'atime' in c['facts']:
        sh('mount', '-o', 'remount,noatime', folder)
    if done.returncode:
        return [f'iot-trace: status {done.returncode}: {done.stdout}{done.stderr}']
    rows, head = report(store, 'explain'), report(store, 'headline')
    if os.environ.get('SHOW'):
        print(f'==== {fs} {name}')
        for r in head:
            if r['about'] not in ('next', 'missing', 'ledger'):
                print('  H', r['about'] + ':', r['words'])
        for r in rows:
            print('  E', r['about'] + ':', r['words'], r['bytes'], r['share'], r['saving'])
    return [*check_explain(c, at, device, rows), *check_headline(c, at, device, head)]


# Others show what these show, too: they are run with IOT_SENTENCES alone.
ALIKE = 'blocks_dsync', 'rename_only', 'mapped', 'sparse', 'folders', 'in_place', 'appends', 'fio_uring', 'copies', 'sqlite_wal_large'


def wanted(fs):
    """The cases of a file system: those that are neither heavy nor alike take turns at theirs, so that each is run once; with IOT_SENTENCES all."""
    if os.environ.get('IOT_SENTENCES'):
        return [name for name, c in CASES.items() if fs in c['fs']]
    turns = dict.fromkeys(EVERY, 0)
    chosen = []
    for name, c in CASES.items():
        if c['heavy'] or name in ALIKE:
            continue
        turn = min(c['fs'], key=turns.get)
        turns[turn] += 1
        if turn == fs:
            chosen.append(name)
    return chosen


def check(fs, folder, device, store, only):
    failed = ran = 0
    for name in only or wanted(fs):
        c = CASES[name]
        if fs not in c['fs'] or not all(map(shutil.which, c['needs'])):
            continue
        ran += 1
        for wrong in run_case(name, fs, folder, device, store):
            print(f'{fs} {name}: {wrong}')
            failed += 1
    print(f'{ran} runs, {failed} wrong')
    return failed or not ran


if __name__ == '__main__':
    if sys.argv[1] == 'run':
        CASES[sys.argv[2]]['run'](sys.argv[3])
        sys.exit()
    sys.exit(check(*sys.argv[2:6], sys.argv[6:]) != 0)

#!/bin/busybox sh
# The first program in a node of `kind: uml`: makes the machine what the lab's file says, and then
# runs what comes by its serial lines. The @WORDS@ are put in by `mod.rs`, which also tells the story.
b=@BUSYBOX@
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

# The lab ends the machine; the first program must not.
fails() {
    echo "fails $*" >/dev/ttyS0
    while :; do $b sleep 1000; done
}
try() {
    why=$("$@" 2>&1) || fails "$*: $why"
}
load() {
    why=$($b insmod "$1" 2>&1) || case $why in *'File exists'*) ;; *) fails "$why" ;; esac
}

for n in @LINES@; do
    $b stty raw -echo <"/dev/ttyS$n"
done
try $b mount -t proc proc /proc
@MODULES@

# Its file system: the host's files, and whatever is written goes with the machine.
try $b mount -t tmpfs own /mnt
try $b mkdir /mnt/up /mnt/work /mnt/root
try $b mount -t overlay own -o lowerdir=/,upperdir=/mnt/up,workdir=/mnt/work /mnt/root
try $b mount -t proc proc /mnt/root/proc
try $b mount -t sysfs sys /mnt/root/sys
try $b mount -t devtmpfs dev /mnt/root/dev
try $b mkdir -p /mnt/root/dev/pts /mnt/root/dev/shm
try $b mount -t devpts pts /mnt/root/dev/pts
try $b mount -t tmpfs shm /mnt/root/dev/shm
try $b mount -t tmpfs run /mnt/root/run
try $b hostname @NAME@

try $b ip link set lo up
@NETWORK@

# One program, with its words, and all that it starts: when it ends, they do. Its number is noted
# for whoever wants to end it.
$b cat >/mnt/program <<'PROGRAM'
line=$1 mark=$2
shift 2
echo "$mark $$" >"/mnt/job.$line"
exec @BUSYBOX@ unshare --pid --fork --mount-proc=/mnt/root/proc @BUSYBOX@ env -i @ENVIRONMENT@ \
    @BUSYBOX@ chroot /mnt/root /bin/sh -c 'cd "$0" && exec "$@"' @DIRECTORY@ "$@"
PROGRAM

# What is printed, in pieces that a line holds, each asked to be acknowledged: a line that is full is
# not always told when it is empty again, and then stands still for ever (6.1).
pieces() {
    while $b dd bs=2048 count=1 2>"/mnt/dd.$1" && read -r taken rest <"/mnt/dd.$1"; do
        [ "$taken" != 0+0 ] || break
        printf '\0%s +\n' "$2"
        read -r acknowledged <&3
    done
}

# A line: a mark and the words of a program, as a shell reads them; back comes what it prints, by a
# pipe, for it is to see no terminal, and at its end the mark and how it ended.
serve() {
    : >"/mnt/open.$1"
    while read -r mark words; do
        {
            (eval "set -- $1 $mark $words" && exec $b setsid $b sh /mnt/program "$@") </dev/null
            echo $? >"/mnt/end.$1"
        } 2>&1 3<&- | pieces "$1" "$mark"
        read -r status <"/mnt/end.$1"
        printf '\0%s %s\n' "$mark" "$status"
    done
}
for n in @LINES@; do
    [ "$n" = 0 ] || serve "$n" <"/dev/ttyS$n" 3<&0 >"/dev/ttyS$n" 2>/dev/null &
done
for n in @LINES@; do
    until [ "$n" = 0 ] || [ -e "/mnt/open.$n" ]; do $b usleep 10000; done
done

# The first line ends programs: the line they are on, and their mark, lest it be the next one there.
exec </dev/ttyS0
echo ready >/dev/ttyS0
while read -r line mark; do
    for try in 1 2 3 4 5 6 7 8 9 10; do
        if read -r noted pid <"/mnt/job.$line" && [ "$noted" = "$mark" ]; then
            kill -9 "-$pid"
            break
        fi
        $b usleep 100000
    done 2>/dev/null
done
fails "nobody is at the first line"

package combine

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The runtime waits for its timers in whole milliseconds when a process idles
// (its epoll_wait takes no less), which is four gaps. A timer that is a file is
// awaited like a connection, and is exact to some 50 µs.

// finer holds timer files that nobody sleeps on; the collector closes them.
var finer = sync.Pool{New: func() any { return openTimer() }}

type timerFile struct {
	fd   int
	file *os.File
}

func openTimer() *timerFile {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil { // out of files, or forbidden
		return nil
	}
	return &timerFile{fd: fd, file: os.NewFile(uintptr(fd), "timer")}
}

// sleep pauses for d. What the file left of it is slept out: all of it where there
// is none, and in a test whose clock is not the system's.
func sleep(d time.Duration) {
	start := time.Now()
	if timer := finer.Get().(*timerFile); timer != nil && timer.sleep(d) {
		finer.Put(timer)
	}
	time.Sleep(d - time.Since(start))
}

func (t *timerFile) sleep(d time.Duration) bool {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if unix.TimerfdSettime(t.fd, 0, &spec, nil) != nil {
		return false
	}
	var fired [8]byte
	_, err := t.file.Read(fired[:])
	return err == nil
}

package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"
)

// AwaitStopped waits until all threads of a process that was sent a SIGSTOP stand still. It returns an error that names
// a thread which still runs when the time is over, or the error of a process that has ended.
func AwaitStopped(pid int, within time.Duration) error {
	for end := time.Now().Add(within); ; time.Sleep(time.Millisecond) {
		err := stopped(pid)
		if err == nil || errors.Is(err, fs.ErrNotExist) || time.Now().After(end) {
			return err
		}
	}
}

func stopped(pid int) error {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return err
	}
	for _, task := range tasks {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/stat", pid, task.Name()))
		if err != nil {
			continue // the thread has ended meanwhile
		}
		// "pid (name) state": the name may contain anything, but no field after it has a parenthesis.
		at := bytes.LastIndexByte(stat, ')')
		if at < 0 || at+2 >= len(stat) || stat[at+2] != 'T' {
			return fmt.Errorf("thread %s of %d still runs", task.Name(), pid)
		}
	}
	return nil
}

// Stopping reports whether the process was sent a SIGSTOP that none of its threads has taken: none had a turn since. A
// SIGCONT would undo it.
func Stopping(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(status, []byte("ShdPnd:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	pending, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 64)
	return err == nil && pending&(1<<(syscall.SIGSTOP-1)) != 0
}

package redistest

import (
	"bytes"
	"context"
	"fmt"
	"os"
)

// awaitStopped waits until all threads of the process stand still, so that what a test does after a pause does
// happen after it.
func awaitStopped(pid int) error {
	ctx, cancel := context.WithTimeout(context.Background(), Soon)
	defer cancel()
	return poll(ctx, func() error { return stopped(pid) })
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

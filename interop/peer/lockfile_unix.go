//go:build unix

package peer

import (
	"os"
	"syscall"
)

// lockFile waits until no other process has the lock. It goes with the process, so a killed one leaves none.
func lockFile(path string) (unlock func() error, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := flock(file); err != nil {
		file.Close()
		return nil, err
	}
	return file.Close, nil
}

func flock(file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
		if err != syscall.EINTR { // the runtime's preemption signals interrupt the wait
			return err
		}
	}
}

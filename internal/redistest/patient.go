package redistest

import (
	"context"
	"errors"
	"os"
)

// Patient connects, and does so again when it took too long, as it may on a busy machine.
func Patient[T any](connect func() (T, error)) (T, error) {
	c, err := connect()
	for range 5 {
		if !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded) {
			break
		}
		c, err = connect()
	}
	return c, err
}

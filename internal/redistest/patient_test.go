package redistest

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAConnectThatTookTooLongIsDoneAgain(t *testing.T) {
	t.Parallel()
	other := errors.New("other")
	for name, c := range map[string]struct {
		errs []error
		want error
	}{
		"until it comes about": {[]error{os.ErrDeadlineExceeded, os.ErrDeadlineExceeded, nil}, nil},
		"but for other errors": {[]error{os.ErrDeadlineExceeded, other, nil}, other},
	} {
		times := 0
		n, err := Patient(func() (int, error) {
			times++
			return times, c.errs[times-1]
		})
		require.Equal(t, c.want, err, name)
		require.Equal(t, times, n)
	}
}

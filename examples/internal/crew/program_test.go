package crew

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ran is a program that has the flags -n and -addr, and what it said.
func ran(show func(ctx context.Context) ([]string, error), args ...string) (code int, said string) {
	var n int
	var addr string
	var stderr bytes.Buffer
	code = Program{
		Name:  "some",
		Flags: func(f *flag.FlagSet) { f.IntVar(&n, "n", 1, "a number"); Addr(f, &addr) },
		Check: func() error {
			if n < 1 {
				return errors.New("-n is too small")
			}
			return nil
		},
		Show: show,
	}.Run(args, &stderr)
	return code, stderr.String()
}

func TestAProgramSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	fine := func(context.Context) ([]string, error) { return nil, nil }
	for _, c := range []struct {
		args []string
		show func(ctx context.Context) ([]string, error)
		code int
		said string
	}{
		{nil, fine, 0, ""},
		{[]string{"-h"}, fine, 0, "Usage of some"},
		{[]string{"-n", "0"}, fine, ExitUsage, "some: -n is too small\nUsage of some"},
		{[]string{"-x"}, fine, ExitUsage, "Usage of some"},
		{[]string{"-n", "2", "y", "z"}, fine, ExitUsage, "some: what is \"y z\"? There are only flags\nUsage of some"},
		{nil, func(context.Context) ([]string, error) { return []string{"a", "b"}, nil }, ExitWrong, "some: a\nsome: b\n"},
		{nil, func(context.Context) ([]string, error) { return nil, errors.New("no") }, ExitFailed, "some: no\n"},
		{nil, func(ctx context.Context) ([]string, error) { return nil, ctx.Err() }, 0, ""},
	} {
		code, said := ran(c.show, c.args...)
		assert.Equal(t, c.code, code, c.args)
		assert.Contains(t, said, c.said)
		if c.said == "" {
			assert.Empty(t, said)
		}
	}
}

func TestTheServerOfAnAddress(t *testing.T) {
	t.Parallel()
	for addr, url := range map[string]string{"here:1": "redis://here:1", "rediss://there": "rediss://there"} {
		s, err := OpenServer(addr)
		require.NoError(t, err)
		assert.Equal(t, url, s.URL)
		assert.Equal(t, addr, s.Title)
		s.Close()
	}
	s, err := OpenServer("")
	require.NoError(t, err)
	assert.Contains(t, s.URL, "redis://127.0.0.1:")
	assert.Equal(t, "embedded", s.Title)
	s.Close()
}

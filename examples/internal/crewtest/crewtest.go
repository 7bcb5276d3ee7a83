// Package crewtest has what the tests of the examples have in common.
package crewtest

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/examples/internal/crew"
)

// Run is the main function of an example.
type Run func(args []string, stdout, stderr io.Writer) int

// With runs an example with arguments, which spaces separate, and returns what it said.
func (run Run) With(t *testing.T, args string) (code int, out, errors string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(strings.Fields(args), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// Refuses checks that an example shows its usage for arguments that cannot be, helps when it is asked to, and fails without a server.
func (run Run) Refuses(t *testing.T, wrong ...string) {
	t.Helper()
	for _, args := range wrong {
		code, _, errors := run.With(t, args)
		require.Equal(t, crew.ExitUsage, code, args)
		require.Contains(t, errors, "Usage", args)
	}
	code, _, _ := run.With(t, "-h")
	require.Zero(t, code)
	code, _, errors := run.With(t, "-addr 127.0.0.1:1")
	require.Equal(t, crew.ExitFailed, code)
	require.NotEmpty(t, errors)
}

package redistest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestChildTalks(t *testing.T) {
	t.Parallel()
	c := StartChild(t, "echo", "GREETING=hello")
	require.Equal(t, "ready hello", c.Next())
	c.Send("one")
	c.Send("two %d", 2)
	require.Equal(t, "heard two 2", c.Await("heard two"))
	c.CloseInput()
	require.Equal(t, "bye", c.Next())
	require.Zero(t, c.Wait())
}

func TestStoppedChildIsSilentUntilContinued(t *testing.T) {
	t.Parallel()
	c := StartChild(t, "echo")
	c.Await("ready")
	c.Stop()
	c.Send("late")
	_, ok := c.AwaitFor("heard", 50*time.Millisecond)
	require.False(t, ok)
	c.Cont()
	require.Equal(t, "heard late", c.Next())
}

func TestKilledChildEndsAndSaysNoMore(t *testing.T) {
	t.Parallel()
	c := StartChild(t, "echo")
	c.Await("ready")
	c.Kill()
	c.Kill()
	require.Equal(t, -1, c.Wait())
	_, ok := c.AwaitFor("", time.Minute)
	require.False(t, ok)
}

func TestChildExitCode(t *testing.T) {
	t.Parallel()
	require.Equal(t, 3, StartChild(t, "exit").Wait())
	require.Equal(t, 2, StartChild(t, "no such child").Wait())
}

func TestChildOfAnotherBinary(t *testing.T) {
	t.Parallel()
	own, err := os.Executable()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "other.test")
	require.NoError(t, os.Symlink(own, path)) // a copy would be busy while another test starts a process
	require.Equal(t, path, StartChildOf(t, path, "program").Next())
	require.NotEqual(t, path, StartChild(t, "program").Next())
}

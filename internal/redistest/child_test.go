package redistest

import (
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

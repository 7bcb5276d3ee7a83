package redistest

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

func TestClusterFailsOverAndHeals(t *testing.T) {
	t.Parallel()
	c := StartCluster(t)
	require.Len(t, c.Addrs(), 6)
	require.Same(t, c.Nodes()[2], c.Master("foo"))
	client := c.Client(t)
	for _, key := range []string{"a", "b", "c", "foo"} {
		require.NoError(t, client.Do(t.Context(), client.B().Set().Key(key).Value("v").Build()).Error())
		value, err := c.Master(key).ask("GET", key)
		require.NoError(t, err)
		require.Equal(t, "v", value)
	}

	old, replica := c.Master("foo"), c.Replica("foo")
	old.Kill()
	now := c.AwaitMaster(t, "foo", old.Addr())
	require.Same(t, replica, now)
	_, err := now.ask("SET", "foo", "w")
	require.NoError(t, err)

	old.Restart()
	c.AwaitComplete(t)
	require.Same(t, old, c.Replica("foo"))
}

func TestClusterMasterThatIsPausedIsReplaced(t *testing.T) {
	t.Parallel()
	c := StartCluster(t, Config("cluster-require-full-coverage", "no"))
	old := c.Master("foo")
	old.Pause()
	now := c.AwaitMaster(t, "foo", old.Addr())
	require.NotSame(t, old, now)
	old.Resume()
	c.AwaitComplete(t)
	require.Same(t, now, c.Master("foo"))
}

func TestSentinelFailsOver(t *testing.T) {
	t.Parallel()
	s := StartSentinel(t)
	require.Len(t, s.Addrs(), 3)
	client := s.Client(t)
	require.NoError(t, client.Do(t.Context(), client.B().Set().Key("k").Value("v").Build()).Error())
	await(t, "the replica to have the value", func() error {
		value, err := s.Replica().ask("GET", "k")
		if err == nil && value != "v" {
			err = errors.New("not yet")
		}
		return err
	})
	old, replica := s.Master(), s.Replica()
	old.Kill()
	require.Same(t, replica, s.AwaitMaster(t, old.Addr()))
	value, err := replica.ask("GET", "k")
	require.NoError(t, err)
	require.Equal(t, "v", value)
	old.Restart()
	s.AwaitComplete(t)
	require.Same(t, old, s.Replica())
}

func TestAPartitionHasTwoMastersUntilItHeals(t *testing.T) {
	t.Parallel()
	s := StartSentinel(t)
	master, other, heal := s.Partition(t)
	require.Same(t, master, s.Master())
	for _, node := range []*Server{master, other} {
		require.NoError(t, isMaster(node))
		_, err := node.ask("SET", "side", node.Addr())
		require.NoError(t, err)
	}
	time.Sleep(2 * time.Second) // the Sentinels would have mended it
	require.NoError(t, isMaster(other))
	require.Same(t, master, s.Master())
	heal()
	require.Same(t, other, s.Replica())
	value, err := other.ask("GET", "side")
	require.NoError(t, err)
	require.Equal(t, master.Addr(), value, "what the other side has written is gone")

	// The Sentinels watch again.
	master.Kill()
	require.Same(t, other, s.AwaitMaster(t, master.Addr()))
}

func TestThroughLeadsAClusterClientThroughProxies(t *testing.T) {
	t.Parallel()
	c := StartCluster(t)
	p := NewProxy(t, c.Master("foo").Addr())
	client := c.Client(t, func(o *rueidis.ClientOption) { o.DialCtxFn = Through(p) })
	for _, key := range []string{"foo", "a", "b", "c"} {
		require.NoError(t, client.Do(t.Context(), client.B().Set().Key(key).Value("v").Build()).Error())
	}
	require.Equal(t, 1, p.Count(All(Command("SET"), Arg("foo"))))
	require.Zero(t, p.Count(Arg("a"))+p.Count(Arg("b"))-countOwn(c, p, "a", "b"))
}

// countOwn is how many of the keys belong to the proxied node anyway.
func countOwn(c *Cluster, p *Proxy, keys ...string) (n int) {
	for _, key := range keys {
		if c.Master(key).Addr() == p.Target() {
			n++
		}
	}
	return n
}

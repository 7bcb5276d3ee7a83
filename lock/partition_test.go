package lock_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// replicated is a master and its replica.
func replicated(t testing.TB, opts ...redistest.Option) (master, replica *redistest.Server) {
	t.Helper()
	master = redistest.Start(t, opts...)
	replica = redistest.Start(t, redistest.Config("replicaof", "127.0.0.1", strconv.Itoa(master.Port())))
	raw := master.Client(t)
	redistest.Eventually(t, func() bool {
		return strings.Contains(replication(t, raw), "state=online")
	}, patience, 10*time.Millisecond, "the replica does not come")
	return master, replica
}

// replication is what a server says of it.
func replication(t testing.TB, raw rueidis.Client) string {
	t.Helper()
	info, err := do(t, raw, "INFO", "replication").ToString()
	require.NoError(t, err)
	return info
}

// promoted promotes a replica, as the other side of a partition does: the master lives
// on and is not told.
func promoted(t testing.TB, master, replica *redistest.Server) {
	t.Helper()
	redistest.Do(t, replica.Client(t), "REPLICAOF", "NO", "ONE")
	raw := master.Client(t)
	redistest.Eventually(t, func() bool {
		return strings.Contains(replication(t, raw), "connected_slaves:0")
	}, patience, 10*time.Millisecond, "the master keeps its replica")
}

// TestHoldEndsWithinALeaseOfAPartition has the master's side of a partition without
// replicas, of which the link is closed, or stays open in silence. Renewals go on there,
// unless the setting or the option is used.
func TestHoldEndsWithinALeaseOfAPartition(t *testing.T) {
	t.Parallel()
	lease := max(6*time.Second, redistest.Scaled(2*time.Second)) // it outlasts a machine that stands still for a moment
	for title, of := range map[string]cutOff{
		"by replica acks of renewals": {false, nil, []rueidisson.Option{rueidisson.WithReplicaAcks(1, 2*time.Second, rueidisson.Renewals)}},
		"by min-replicas-to-write": {false, []redistest.Option{
			redistest.Config("min-replicas-to-write", "1"), redistest.Config("min-replicas-max-lag", "2"),
		}, nil},
		"by neither": {true, nil, []rueidisson.Option{rueidisson.WithReplicaAcks(1, 2*time.Second)}},
	} {
		of.client = append(of.client, rueidisson.WithWatchdogTimeout(lease))
		silent := func(_ testing.TB, _, replica *redistest.Server) { replica.Pause() }
		for link, cut := range map[string]func(t testing.TB, master, replica *redistest.Server){"closed": promoted, "silent": silent} {
			t.Run(title+", "+link, func(t *testing.T) {
				t.Parallel()
				of.through(t, lease, cut)
			})
		}
	}
}

// cutOff is how holds are kept from living on beside a promoted master.
type cutOff struct {
	lives  bool
	server []redistest.Option
	client []rueidisson.Option
}

// through has a hold renewed before and after the master is cut off from its replica.
func (of cutOff) through(t *testing.T, lease time.Duration, cut func(t testing.TB, master, replica *redistest.Server)) {
	master, replica := replicated(t, of.server...)
	c := locktest.Open(t, master.Addr(), of.client...)
	hold := acquire(t, c.Lock(redistest.Name(t)))
	counts := func() {
		t.Helper()
		before := hold.Deadline()
		redistest.Eventually(t, func() bool { return hold.Deadline().After(before.Add(lease / 10)) }, redistest.Soon, glance, "no renewal counts")
	}
	counts()
	cut(t, master, replica)
	if of.lives { // beside whoever takes the lock on the other side
		counts()
		counts()
		require.NoError(t, hold.Unlock(t.Context()))
		return
	}
	select {
	case <-hold.Lost():
	case <-time.After(redistest.Soon):
		t.Fatal("the hold lives on beside the promoted master")
	}
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
}

// TestRenewalOfALongerLeaseIsAWrite, for a key that lives for longer than a renewal asks for, as others who joined may want
// it: replicas confirm what was written, and WAIT behind a script that wrote nothing answers at once.
func TestRenewalOfALongerLeaseIsAWrite(t *testing.T) {
	t.Parallel()
	server, name := redistest.Start(t), redistest.Name(t)
	lease := max(6*time.Second, redistest.Scaled(2*time.Second)) // it outlasts a machine that stands still for a moment
	hold := acquire(t, locktest.Open(t, server.Addr(), rueidisson.WithWatchdogTimeout(lease)).Lock(name))
	redistest.Do(t, server.Client(t), "PEXPIRE", name, "600000")
	before := server.CommandCalls(t, "pexpire")
	renewed := hold.Deadline()
	redistest.Eventually(t, func() bool { return hold.Deadline().After(renewed.Add(lease / 10)) }, redistest.Soon, glance)
	require.Greater(t, server.CommandCalls(t, "pexpire"), before)
	ttl := redistest.Do(t, server.Client(t), "PTTL", name)
	left, err := ttl.AsInt64()
	require.NoError(t, err)
	require.Greater(t, left, int64(300_000), "it shortens nothing")
	require.NoError(t, hold.Unlock(t.Context()))
}

// TestExtendCountsWithReplicasOnly: an Extend that no replica confirmed is not trusted.
func TestExtendCountsWithReplicasOnly(t *testing.T) {
	t.Parallel()
	master, replica := replicated(t)
	c := locktest.Open(t, master.Addr(), rueidisson.WithReplicaAcks(1, 2*time.Second, rueidisson.Renewals))
	hold := acquire(t, c.Lock(redistest.Name(t)), lock.WithLease(30*time.Second))
	promoted(t, master, replica)
	before := hold.Deadline()
	require.ErrorIs(t, hold.Extend(t.Context(), time.Minute), lock.ErrNotReplicated)
	require.WithinDuration(t, before, hold.Deadline(), 5*time.Second)
	require.NoError(t, hold.Unlock(t.Context()))
}

func TestOptionOfReplicaAcksNamesWhatItKnows(t *testing.T) {
	t.Parallel()
	_, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{redistest.Shared(t).Addr()}},
		rueidisson.WithReplicaAcks(1, time.Second, rueidisson.Acked(2)))
	require.ErrorIs(t, err, rueidisson.ErrInvalidArgument)
}

// TestMasterThatGoesOnAloneIsWarnedOfOnce reads the log of a client that is made.
func TestMasterThatGoesOnAloneIsWarnedOfOnce(t *testing.T) {
	t.Parallel()
	master, _ := replicated(t)
	raw, address := master.Client(t), rueidis.ClientOption{InitAddress: []string{master.Addr()}}
	warned := func() (found []string) {
		for _, line := range policies(t, address) {
			if strings.Contains(line, "network partition") {
				found = append(found, line)
			}
		}
		return found
	}
	said := warned()
	require.Len(t, said, 1)
	require.Contains(t, said[0], "min-replicas-to-write=0")
	redistest.Do(t, raw, "CONFIG", "SET", "min-replicas-to-write", "1", "min-replicas-max-lag", "10")
	require.Empty(t, warned())
	redistest.Do(t, raw, "CONFIG", "SET", "min-replicas-max-lag", "30")
	said = warned()
	require.Len(t, said, 1)
	require.Contains(t, said[0], "min-replicas-max-lag=30")
	require.Empty(t, policies(t, rueidis.ClientOption{InitAddress: []string{redistest.Shared(t).Addr()}}), "a server without replicas")
}

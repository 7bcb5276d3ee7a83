package redistest

import (
	"strconv"
	"testing"
)

// Partition makes the replica a master, while the master goes on as one: what a network that is split in two leaves. The
// Sentinels name the master still. They learn nothing until heal, which makes the other one its replica again: it loses what it
// has written meanwhile. A [Proxy] leads clients to the other side with [Proxy.Redirect].
func (s *Sentinel) Partition(t testing.TB) (master, other *Server, heal func()) {
	t.Helper()
	master, other = s.Master(), s.Replica()
	// A Sentinel that hears of a second master makes it a replica after four periods.
	s.tell(t, s.sentinels, "SENTINEL", "DEBUG", "INFO-PERIOD", "3600000", "PUBLISH-PERIOD", "3600000")
	s.tell(t, []*Server{other}, "REPLICAOF", "NO", "ONE")
	return master, other, func() {
		t.Helper()
		s.tell(t, []*Server{other}, "REPLICAOF", "127.0.0.1", strconv.Itoa(master.Port()))
		s.tell(t, s.sentinels, sentinelPeriods...)
		s.AwaitComplete(t)
	}
}

// tell sends servers what does no harm if it is done twice.
func (s *Sentinel) tell(t testing.TB, servers []*Server, args ...string) {
	t.Helper()
	for _, server := range servers {
		await(t, args[0]+" to "+server.Addr(), func() error {
			_, err := server.ask(args...)
			return err
		})
	}
}

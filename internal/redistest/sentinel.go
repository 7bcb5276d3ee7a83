package redistest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"
)

const (
	sentinelCount   = 3
	sentinelQuorum  = "2"
	sentinelMaster  = "redistest"
	sentinelDown    = "1000"
	sentinelTimeout = "3000"
)

// Sentinel is one master and one replica, watched by three Sentinels with a quorum of two.
type Sentinel struct {
	t         testing.TB
	nodes     []*Server // the first began as the master
	sentinels []*Server
}

// StartSentinel starts the servers and the Sentinels and returns when the replica is in step and every Sentinel knows
// the others and the replica, so that a failover can begin. A master is held to be down after 1 s. The
// options are for the master and the replica.
func StartSentinel(t testing.TB, opts ...Option) *Sentinel {
	t.Helper()
	o := resolve(opts)
	s := &Sentinel{t: t}
	none := func(int) ([]setting, error) { return nil, nil }
	master := start(t, o, none)
	replica := start(t, o, func(int) ([]setting, error) {
		return []setting{{"replicaof", "127.0.0.1", strconv.Itoa(master.Port())}}, nil
	})
	s.nodes = []*Server{master, replica}
	await(t, "the replica to be in step", func() error {
		return errors.Join(replicating(master), replicating(replica))
	})
	for range sentinelCount {
		s.sentinels = append(s.sentinels, s.startSentinel(o, master))
	}
	await(t, "the Sentinels to know each other", s.known)
	return s
}

func (s *Sentinel) startSentinel(o options, master *Server) *Server {
	watch := options{version: o.version, tls: o.tls, settings: []setting{
		{"sentinel", "monitor", sentinelMaster, "127.0.0.1", strconv.Itoa(master.Port()), sentinelQuorum},
		{"sentinel", "down-after-milliseconds", sentinelMaster, sentinelDown},
		{"sentinel", "failover-timeout", sentinelMaster, sentinelTimeout},
	}}
	node := start(s.t, watch, func(int) ([]setting, error) { return nil, nil }, "--sentinel")
	if _, err := node.ask(sentinelPeriods...); err != nil {
		s.t.Fatal(err)
	}
	return node
}

// sentinelPeriods make Sentinels quick. They find each other by messages that they publish every two seconds, and replicas by an
// INFO every ten. After two seconds in which they did not run they do nothing for thirty. These are the knobs for tests.
var sentinelPeriods = []string{"SENTINEL", "DEBUG", "TILT-PERIOD", "1000", "PUBLISH-PERIOD", "100", "INFO-PERIOD", "500", "ASK-PERIOD", "200", "PING-PERIOD", "200"}

// known returns nil when every Sentinel that answers knows all others and the replica.
func (s *Sentinel) known() error {
	return s.eachAnswering(func(sentinel *Server) error {
		state, err := s.state(sentinel)
		if err != nil {
			return err
		}
		if state["num-slaves"] != "1" || state["num-other-sentinels"] != strconv.Itoa(sentinelCount-1) || state["flags"] != "master" {
			return fmt.Errorf("sees %s replicas, %s other Sentinels, a master that is %s",
				state["num-slaves"], state["num-other-sentinels"], state["flags"])
		}
		return nil
	})
}

// state returns what a Sentinel thinks of the master.
func (s *Sentinel) state(sentinel *Server) (map[string]string, error) {
	value, err := sentinel.ask("SENTINEL", "MASTER", sentinelMaster)
	if err != nil {
		return nil, err
	}
	list, _ := value.([]any)
	out := map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		name, _ := list[i].(string)
		out[name], _ = list[i+1].(string)
	}
	return out, nil
}

func (s *Sentinel) eachAnswering(check func(*Server) error) error {
	asked := 0
	for _, sentinel := range s.sentinels {
		if answers(sentinel) != nil {
			continue
		}
		asked++
		if err := check(sentinel); err != nil {
			return fmt.Errorf("sentinel %s: %w", sentinel.Addr(), err)
		}
	}
	if asked == 0 {
		return errors.New("no Sentinel answers")
	}
	return nil
}

// Addrs returns the addresses of the Sentinels.
func (s *Sentinel) Addrs() []string {
	var addrs []string
	for _, sentinel := range s.sentinels {
		addrs = append(addrs, sentinel.Addr())
	}
	return addrs
}

// MasterName returns the name that the Sentinels watch.
func (s *Sentinel) MasterName() string { return sentinelMaster }

// Sentinels returns the Sentinel processes themselves.
func (s *Sentinel) Sentinels() []*Server { return append([]*Server(nil), s.sentinels...) }

// Nodes returns the two data servers: the first began as the master.
func (s *Sentinel) Nodes() []*Server { return append([]*Server(nil), s.nodes...) }

// Master returns the data server that the Sentinels name now. It waits while they disagree, and fails the test after half a
// minute.
func (s *Sentinel) Master() (node *Server) {
	s.t.Helper()
	await(s.t, "a master", func() (err error) {
		node, err = s.master()
		return err
	})
	return node
}

// FailOver kills the master, and waits for the next one.
func (s *Sentinel) FailOver(t testing.TB) {
	t.Helper()
	old := s.Master()
	addr := old.Addr()
	old.Kill()
	s.AwaitMaster(t, addr)
}

// Replica returns the data server that is not the master.
func (s *Sentinel) Replica() *Server {
	s.t.Helper()
	if master := s.Master(); master != s.nodes[1] {
		return s.nodes[1]
	}
	return s.nodes[0]
}

// AwaitMaster waits until all Sentinels that answer name a master other than the one at notAddr, and it agrees that it
// is one. It returns that server.
func (s *Sentinel) AwaitMaster(t testing.TB, notAddr string) *Server {
	t.Helper()
	var node *Server
	await(t, "a new master", func() (err error) {
		if node, err = s.master(); err != nil {
			return err
		}
		if node.Addr() == notAddr {
			return fmt.Errorf("still %s", notAddr)
		}
		return isMaster(node)
	})
	return node
}

// AwaitComplete waits until the Sentinels know each other, the master and the replica, and the replica is in step, as after a
// failover and the restart of the former master.
func (s *Sentinel) AwaitComplete(t testing.TB) {
	t.Helper()
	await(t, "the replica to be in step, and all Sentinels to know it", func() error {
		master, err := s.master()
		if err != nil {
			return err
		}
		for _, node := range s.nodes {
			err = errors.Join(err, replicating(node))
		}
		return errors.Join(err, isMaster(master), s.known())
	})
}

func (s *Sentinel) master() (*Server, error) {
	found := ""
	err := s.eachAnswering(func(sentinel *Server) error {
		value, err := sentinel.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", sentinelMaster)
		if err != nil {
			return err
		}
		addr := joinAny(value)
		if found != "" && addr != found {
			return fmt.Errorf("disagreement: %s or %s", found, addr)
		}
		found = addr
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, node := range s.nodes {
		if node.Addr() == found {
			return node, nil
		}
	}
	return nil, fmt.Errorf("redistest: the Sentinels name %q, which is none of ours", found)
}

func joinAny(value any) string {
	list, _ := value.([]any)
	var parts []string
	for _, item := range list {
		part, _ := item.(string)
		parts = append(parts, part)
	}
	return strings.Join(parts, ":")
}

func isMaster(node *Server) error {
	got, err := info(node.Addr(), "replication")
	if err != nil {
		return err
	}
	if got["role"] != "master" {
		return fmt.Errorf("%s is a %s", node.Addr(), got["role"])
	}
	return nil
}

// Client returns a plain rueidis client that finds the master by the Sentinels, without client side caching. It is closed
// when the test ends.
func (s *Sentinel) Client(t testing.TB, change ...func(*rueidis.ClientOption)) rueidis.Client {
	t.Helper()
	return client(t, rueidis.ClientOption{
		InitAddress:  s.Addrs(),
		Sentinel:     rueidis.SentinelOption{MasterSet: s.MasterName()},
		DisableCache: true,
	}, change)
}

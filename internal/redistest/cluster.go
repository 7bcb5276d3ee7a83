package redistest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"
)

const (
	clusterMasters     = 3
	clusterNodes       = 2 * clusterMasters
	clusterNodeTimeout = "1500"
)

// Cluster is a Redis Cluster of three masters with one replica each.
type Cluster struct {
	t       testing.TB
	nodes   []*Server // masters first, then their replicas in the same order
	buses   []int
	handing sync.Mutex // held while a slot gets a new master: two of them at once might take the same config epoch
}

// StartCluster starts a cluster and returns when every node finds it complete and every replica is in step. A node is
// held to be dead after 1.5 s. Like a server's default, the whole cluster refuses commands while slots are
// without a master, unless Config("cluster-require-full-coverage", "no") is given.
func StartCluster(t testing.TB, opts ...Option) *Cluster {
	t.Helper()
	o := resolve(opts)
	c := &Cluster{t: t, nodes: make([]*Server, clusterNodes), buses: make([]int, clusterNodes)}
	if err := c.launch(o); err != nil {
		t.Fatal(err)
	}
	c.assemble()
	return c
}

// launch starts the nodes together: they need not know each other for that.
func (c *Cluster) launch(o options) error {
	var wg sync.WaitGroup
	failed := make([]error, clusterNodes)
	for i := range c.nodes {
		binary, dir := o.need(c.t, o.versionOf(i)), c.t.TempDir()
		wg.Go(func() { failed[i] = c.launchNode(i, binary, dir, o) })
	}
	wg.Wait()
	return firstError(failed)
}

func (c *Cluster) launchNode(i int, binary, dir string, o options) error {
	p, err := launch(binary, dir, func(port int) ([]setting, error) {
		bus, err := freePort()
		c.buses[i] = bus
		own, err2 := o.lines(dir, port)
		return append(clusterSettings(bus), own...), errors.Join(err, err2)
	})
	if err != nil {
		return err
	}
	c.t.Cleanup(p.kill)
	c.nodes[i] = &Server{t: c.t, process: p}
	return nil
}

func clusterSettings(bus int) []setting {
	return []setting{
		{"cluster-enabled", "yes"},
		{"cluster-config-file", "nodes.conf"},
		{"cluster-node-timeout", clusterNodeTimeout},
		{"cluster-port", strconv.Itoa(bus)},
		{"cluster-announce-ip", "127.0.0.1"},
		{"cluster-replica-validity-factor", "0"}, // a replica is always fit to take over
	}
}

func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// assemble makes one cluster of the nodes. Everybody meets everybody, since waiting for gossip takes longer.
func (c *Cluster) assemble() {
	c.t.Helper()
	for i, node := range c.nodes {
		c.command(node, "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		if i < clusterMasters {
			first, last := i*slots/clusterMasters, (i+1)*slots/clusterMasters-1
			c.command(node, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(last))
		}
		for j := range i {
			c.command(node, "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(c.nodes[j].Port()), strconv.Itoa(c.buses[j]))
		}
	}
	await(c.t, "all nodes to have met", func() error { return c.each(met) })
	for i, master := range c.nodes[:clusterMasters] {
		id, _ := c.command(master, "CLUSTER", "MYID").(string)
		c.command(c.nodes[clusterMasters+i], "CLUSTER", "REPLICATE", id)
	}
	await(c.t, "the cluster to be complete", func() error { return c.each(complete) })
}

func (c *Cluster) command(node *Server, args ...string) any {
	c.t.Helper()
	value, err := node.ask(args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return value
}

func (c *Cluster) each(check func(*Server) error) error {
	for _, node := range c.nodes {
		if err := check(node); err != nil {
			return fmt.Errorf("%s: %w", node.Addr(), err)
		}
	}
	return nil
}

// met returns nil when the node has shaken hands with all others.
func met(node *Server) error {
	view, err := nodeView(node)
	if err != nil {
		return err
	}
	known := 0
	for _, n := range view {
		if !n.has("handshake") && n.linked {
			known++
		}
	}
	if known != clusterNodes {
		return fmt.Errorf("knows %d of %d nodes", known, clusterNodes)
	}
	return nil
}

// complete returns nil when the node finds the cluster in order, sees each role, and replicates.
func complete(node *Server) error {
	if err := stateOK(node); err != nil {
		return err
	}
	view, err := nodeView(node)
	if err != nil {
		return err
	}
	masters := 0
	for _, n := range view {
		if n.has("master") {
			masters++
		}
	}
	if masters != clusterMasters {
		return fmt.Errorf("sees %d masters", masters)
	}
	return replicating(node)
}

func stateOK(node *Server) error {
	value, err := node.ask("CLUSTER", "INFO")
	if err != nil {
		return err
	}
	text, _ := value.(string)
	if state := fields(text)["cluster_state"]; state != "ok" {
		return fmt.Errorf("cluster state %q", state)
	}
	return nil
}

// replicating returns nil for a master with one replica in step, and for such a replica.
func replicating(node *Server) error {
	got, err := info(node.Addr(), "replication")
	if err != nil {
		return err
	}
	if got["role"] == "slave" {
		if got["master_link_status"] != "up" {
			return fmt.Errorf("link to the master is %q", got["master_link_status"])
		}
		return nil
	}
	if !strings.Contains(got["slave0"], "state=online") {
		return fmt.Errorf("replica is %q", got["slave0"])
	}
	return nil
}

// seen is one line of CLUSTER NODES.
type seen struct {
	addr   string
	flags  []string
	linked bool
	ranges []string
}

func (n seen) has(flag string) bool {
	for _, f := range n.flags {
		if f == flag {
			return true
		}
	}
	return false
}

// serves tells whether the node is a master of the slot.
func (n seen) serves(slot int) bool {
	for _, r := range n.ranges {
		first, last, ranged := strings.Cut(r, "-")
		if !ranged {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err1 == nil && err2 == nil && from <= slot && slot <= to {
			return n.has("master") && !n.has("fail")
		}
	}
	return false
}

// nodeView returns the cluster as one node sees it.
func nodeView(node *Server) ([]seen, error) {
	value, err := node.ask("CLUSTER", "NODES")
	if err != nil {
		return nil, err
	}
	text, _ := value.(string)
	var view []seen
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 8 {
			addr, _, _ := strings.Cut(f[1], "@")
			view = append(view, seen{addr: addr, flags: strings.Split(f[2], ","), linked: f[7] == "connected", ranges: f[8:]})
		}
	}
	return view, nil
}

// Nodes returns all six nodes: the first three began as masters, the others as their replicas in the same order.
func (c *Cluster) Nodes() []*Server { return append([]*Server(nil), c.nodes...) }

// Addrs returns the addresses of all nodes.
func (c *Cluster) Addrs() []string {
	var addrs []string
	for _, node := range c.nodes {
		addrs = append(addrs, node.Addr())
	}
	return addrs
}

// Master returns the node that serves the key now. It waits for one while nobody does, or the nodes that answer disagree, and
// fails the test after half a minute.
func (c *Cluster) Master(key string) (node *Server) {
	c.t.Helper()
	await(c.t, fmt.Sprintf("a master of %q", key), func() (err error) {
		node, err = c.master(Slot(key))
		return err
	})
	return node
}

// FailOver kills the master of the key, and waits for the next one.
func (c *Cluster) FailOver(t testing.TB, key string) {
	t.Helper()
	old := c.Master(key)
	addr := old.Addr()
	old.Kill()
	c.AwaitMaster(t, key, addr)
}

// Replica returns the other node of the key's shard.
func (c *Cluster) Replica(key string) *Server {
	c.t.Helper()
	master := c.Master(key)
	for i, node := range c.nodes {
		if node == master {
			return c.nodes[(i+clusterMasters)%clusterNodes]
		}
	}
	return nil
}

// AwaitMaster waits until a node other than the one at notAddr serves the key, all nodes that answer agree on that,
// and find the cluster in order. It returns that node.
func (c *Cluster) AwaitMaster(t testing.TB, key, notAddr string) *Server {
	t.Helper()
	var node *Server
	await(t, fmt.Sprintf("a new master of %q", key), func() (err error) {
		node, err = c.master(Slot(key))
		if err == nil && node.Addr() == notAddr {
			err = fmt.Errorf("still %s", notAddr)
		}
		if err == nil {
			err = c.eachAnswering(stateOK)
		}
		return err
	})
	return node
}

// AwaitComplete waits until every node runs, finds the cluster in order, and every replica is in step, as after a
// failover and the restart of the former master.
func (c *Cluster) AwaitComplete(t testing.TB) {
	t.Helper()
	await(t, "the cluster to be complete", func() error { return c.each(complete) })
}

// master asks every node that answers, the supposed master among them, who serves the slot.
func (c *Cluster) master(slot int) (*Server, error) {
	var found string
	err := c.eachAnswering(func(node *Server) error {
		addr, err := masterSeenBy(node, slot)
		if err == nil && found != "" && addr != found {
			err = fmt.Errorf("disagreement: %s or %s", found, addr)
		}
		found = addr
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, node := range c.nodes {
		if node.Addr() == found {
			return node, answers(node)
		}
	}
	return nil, fmt.Errorf("no node answers")
}

func masterSeenBy(node *Server, slot int) (string, error) {
	view, err := nodeView(node)
	if err != nil {
		return "", err
	}
	for _, n := range view {
		if n.serves(slot) {
			return n.addr, nil
		}
	}
	return "", fmt.Errorf("%s sees no master of slot %d", node.Addr(), slot)
}

// eachAnswering leaves out the nodes that are dead or paused.
func (c *Cluster) eachAnswering(check func(*Server) error) error {
	for _, node := range c.nodes {
		if answers(node) != nil {
			continue
		}
		if err := check(node); err != nil {
			return err
		}
	}
	return nil
}

func answers(node *Server) error {
	_, err := askWithin(glimpse, node.Addr(), "PING")
	return err
}

// Client returns a plain rueidis cluster client, without client side caching. It is closed when the test ends.
func (c *Cluster) Client(t testing.TB, change ...func(*rueidis.ClientOption)) rueidis.Client {
	t.Helper()
	return client(t, rueidis.ClientOption{InitAddress: c.Addrs(), DisableCache: true}, change)
}

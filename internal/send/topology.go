package send

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// Topology knows which node serves a slot, so that a batch can go out per node.
// rueidis knows it too, but does not tell.
type Topology struct {
	client  rueidis.Client
	cluster bool

	spawn func(func()) bool
	base  func() context.Context // of what is asked in the background

	// learned takes a new map of the cluster, with the mutex held, and reports whether the client knows all of its nodes.
	learned func(slots []slotRange) (all bool)

	mu     sync.Mutex
	slots  []slotRange
	asked  time.Time
	asking bool
	stale  bool
	master string // the node that said so last
}

type slotRange struct {
	from, to uint16
	node     string
}

// refreshAfter bounds how old the map may grow, refreshEvery how often a map
// that proved wrong is asked for again, askTimeout how long all of asking may
// take, and nodeTimeout how long one node is waited for.
const (
	refreshAfter = 30 * time.Second
	refreshEvery = 100 * time.Millisecond
	askTimeout   = 2 * time.Second
	unknownFor   = time.Second // after which a map is asked for again that names a node which the client does not know
	nodeTimeout  = 500 * time.Millisecond
)

// Slot returns the cluster slot of key; 0 where there is no cluster.
func (t *Topology) Slot(key string) uint16 {
	if !t.cluster {
		return 0
	}
	cmd := t.client.B().Arbitrary("GET").Keys(key).Build()
	return cmd.Slot()
}

// Node returns the address of the master that serves slot, as far as it is known:
// "" where it is not, or where there is one node only. A map that is old, or
// proved wrong, is asked for again in the background: whoever wants to know is
// in a hurry, and a wrong answer costs a retry.
func (t *Topology) Node(slot uint16) string {
	if !t.cluster {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.askIfDue()
	return t.find(slot)
}

// refresh asks for the map of a cluster that is old, or proved wrong, in the background.
func (t *Topology) refresh() {
	if !t.cluster {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.askIfDue()
}

// askIfDue asks for a map that is old, or proved wrong, in the background. The mutex is held.
func (t *Topology) askIfDue() {
	if !t.due() {
		return
	}
	t.asking, t.asked = true, time.Now()
	if !t.spawn(func() { t.ask(t.base()) }) {
		t.asking = false
	}
}

func (t *Topology) due() bool {
	age := time.Since(t.asked)
	return !t.asking && (age > refreshAfter || (t.stale && age > refreshEvery))
}

func (t *Topology) find(slot uint16) string {
	for _, r := range t.slots {
		if r.from <= slot && slot <= r.to {
			return r.node
		}
	}
	return ""
}

// Node returns the address of the server that has key, as far as the client knows it.
func (s *Sender) Node(key string) string {
	if node := s.Topo.Node(s.Topo.Slot(key)); node != "" {
		return node
	}
	return s.Topo.current()
}

// current returns the address of the only master, where there is no cluster: that which said so last, if the client knows several
// nodes. An old master may live on and answer those who know it.
func (t *Topology) current() string {
	nodes := t.client.Nodes()
	if len(nodes) == 1 {
		for node := range nodes {
			return node
		}
	}
	if t.cluster {
		return ""
	}
	return t.lookForMaster(nodes)
}

// lookForMaster returns the node that was the master last. If that is long ago, or it is not among the nodes, it asks
// them again in the background.
func (t *Topology) lookForMaster(nodes map[string]rueidis.Client) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, there := nodes[t.master]; !there {
		t.stale = true
	}
	if t.due() {
		t.askForMaster()
	}
	return t.master
}

// askForMaster is called with the mutex.
func (t *Topology) askForMaster() {
	t.asked = time.Now()
	t.asking = t.spawn(func() {
		ctx, cancel := context.WithTimeout(t.base(), askTimeout)
		defer cancel()
		_, err := t.findMaster(ctx) // which notes it
		t.mu.Lock()
		defer t.mu.Unlock()
		t.asking, t.stale = false, err != nil
	})
}

// Servers returns a client for each server that is known, those of a cluster with their replicas.
func (s *Sender) Servers() (all []rueidis.Client) {
	for addr, c := range s.Redis.Nodes() {
		if !strings.HasPrefix(addr, ":") { // rueidis has it from a redirection without a host
			all = append(all, c)
		}
	}
	return all
}

// masters returns the addresses of a cluster's masters, as far as they are known.
func (t *Topology) masters() (nodes []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.slots {
		if !slices.Contains(nodes, r.node) {
			nodes = append(nodes, r.node)
		}
	}
	return nodes
}

// Masters returns a client of each node that has keys: of a cluster those that serve slots by its map of now.
func (s *Sender) Masters(ctx context.Context) (all []rueidis.Client, err error) {
	if !s.Topo.cluster {
		node, err := s.Topo.findMaster(ctx)
		if err != nil {
			return nil, err
		}
		return []rueidis.Client{s.Topo.Reach(node)}, nil
	}
	s.Topo.ask(ctx)
	nodes := s.Topo.masters()
	if len(nodes) == 0 {
		return nil, errors.New("no node says who serves the slots")
	}
	for _, node := range nodes {
		c, met := s.Topo.met(node)
		if !met {
			return nil, fmt.Errorf("node %s of the cluster is not known to the client yet", node)
		}
		all = append(all, c)
	}
	return all, nil
}

// Reach returns the client of one node: all of it for "", and for a node that
// rueidis has not met yet, or has already forgotten.
func (t *Topology) Reach(node string) rueidis.Client {
	if node == "" {
		return t.client
	}
	if c, ok := t.client.Nodes()[node]; ok {
		return c
	}
	return t.client
}

// met returns the client of that node and no other, if rueidis has one.
func (t *Topology) met(node string) (rueidis.Client, bool) {
	if !t.cluster {
		return t.client, true
	}
	c, ok := t.client.Nodes()[node]
	return c, ok
}

// MarkStale says that the map proved wrong.
func (t *Topology) MarkStale() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stale = true
}

// ask asks the cluster for the map.
func (t *Topology) ask(ctx context.Context) {
	if !t.cluster {
		return
	}
	slots := t.survey(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asking = false
	if len(slots) > 0 {
		t.slots, t.stale, t.asked = slots, false, time.Now()
		if t.learned != nil && !t.learned(slots) {
			t.asked = t.asked.Add(unknownFor - refreshAfter)
		}
	}
}

// survey returns the map of the first node that has one. Nodes are asked one by one,
// as the answer may leave out hosts: which then are that node's.
func (t *Topology) survey(ctx context.Context) []slotRange {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for addr, c := range t.client.Nodes() {
		if strings.HasPrefix(addr, ":") {
			continue // rueidis has it from a redirection without a host
		}
		if slots := askNode(ctx, addr, c); len(slots) > 0 || ctx.Err() != nil {
			return slots
		}
	}
	return nil
}

func askNode(ctx context.Context, addr string, c rueidis.Client) []slotRange {
	ctx, cancel := context.WithTimeout(ctx, nodeTimeout)
	defer cancel()
	reply, _ := c.Do(ctx, c.B().ClusterSlots().Build()).ToArray() // without a reply there are no slots
	return parseSlots(reply, addr)
}

func parseSlots(reply []rueidis.RedisMessage, asked string) (slots []slotRange) {
	for _, entry := range reply {
		fields, err := entry.ToArray()
		if err != nil || len(fields) < 3 {
			continue
		}
		from, err1 := fields[0].AsInt64()
		to, err2 := fields[1].AsInt64()
		master, err3 := fields[2].ToArray()
		if errors.Join(err1, err2, err3) != nil || len(master) < 2 {
			continue
		}
		host, _ := master[0].ToString() // may be null
		port, _ := master[1].AsInt64()
		node := pubsub.Absolute(net.JoinHostPort(host, strconv.FormatInt(port, 10)), asked)
		slots = append(slots, slotRange{uint16(from), uint16(to), node})
	}
	return slots
}

// Where looks at what channels' nodes depend on: the map of the cluster, or
// who the master is.
func (t *Topology) Where(ctx context.Context) (pubsub.Where, error) {
	if t.cluster { // plain channels, too, go by their slot: a message reaches those on every node, and they are spread over all
		return func(channel pubsub.Channel) (string, error) {
			if node := t.Node(t.Slot(channel.Name)); node != "" {
				return node, nil
			}
			return "", fmt.Errorf("no node is known to serve channel %q", channel.Name)
		}, nil
	}
	master, err := t.findMaster(ctx)
	if err != nil {
		return nil, err
	}
	return func(pubsub.Channel) (string, error) { return master, nil }, nil
}

// findMaster returns the node that the client has, or where rueidis also knows
// replicas, the one that says that it is the master: most likely still the one
// that was.
func (t *Topology) findMaster(ctx context.Context) (string, error) {
	nodes := t.client.Nodes()
	t.mu.Lock()
	last := t.master
	t.mu.Unlock()
	if c, ok := nodes[last]; ok && len(nodes) > 1 && isMaster(ctx, c) {
		return last, nil
	}
	for addr, c := range nodes {
		if len(nodes) == 1 || isMaster(ctx, c) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.master = addr
			return addr, nil
		}
	}
	return "", errors.New("no node says that it is the master")
}

func isMaster(ctx context.Context, c rueidis.Client) bool {
	role, err := c.Do(ctx, c.B().Role().Build()).ToArray()
	if err != nil || len(role) == 0 {
		return false
	}
	name, _ := role[0].ToString()
	return name == "master"
}

// SameSlot reports whether a script may touch all the keys: always, without a
// cluster.
func (s *Sender) SameSlot(keys ...string) bool {
	for _, key := range keys {
		if s.Topo.Slot(key) != s.Topo.Slot(keys[0]) {
			return false
		}
	}
	return true
}

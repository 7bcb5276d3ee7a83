package redistest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// Migration is a slot on its way from one master to another. Until it is finished, the old master answers for the keys
// that it still has, and sends clients on with ASK for the others; a command on several keys of which not all are
// there is refused with TRYAGAIN by both.
type Migration struct {
	c        *Cluster
	slot     int
	from, to *Server
}

// StartMigration begins to move the slot of a key to another master, without moving any key. All nodes have to run.
func (c *Cluster) StartMigration(t testing.TB, key string) *Migration {
	t.Helper()
	m := &Migration{c: c, slot: Slot(key)}
	await(t, fmt.Sprintf("two masters, one of them of slot %d", m.slot), m.find)
	m.start(t)
	return m
}

// StartBack begins to move the slot back, once it has moved.
func (m *Migration) StartBack(t testing.TB) *Migration {
	t.Helper()
	back := &Migration{c: m.c, slot: m.slot, from: m.to, to: m.from}
	back.start(t)
	return back
}

func (m *Migration) start(t testing.TB) {
	t.Helper()
	m.do(t, m.to, "CLUSTER", "SETSLOT", strconv.Itoa(m.slot), "IMPORTING", m.c.id(m.from))
	m.do(t, m.from, "CLUSTER", "SETSLOT", strconv.Itoa(m.slot), "MIGRATING", m.c.id(m.to))
}

// find chooses the masters.
func (m *Migration) find() (err error) {
	if m.from, err = m.c.master(m.slot); err != nil {
		return err
	}
	view, err := nodeView(m.from)
	if err != nil {
		return err
	}
	for _, n := range view {
		if node := m.c.at(n.addr); node != m.from && n.has("master") && !n.has("fail") {
			m.to = node
			return nil
		}
	}
	return errors.New("there is no other master")
}

// From returns the master that had the slot when it began to move.
func (m *Migration) From() *Server { return m.from }

// To returns the master that will have it.
func (m *Migration) To() *Server { return m.to }

// Move moves these keys. One that is not there is left out.
func (m *Migration) Move(t testing.TB, keys ...string) {
	t.Helper()
	move := []string{"MIGRATE", "127.0.0.1", strconv.Itoa(m.to.Port()), "", "0", "5000", "KEYS"}
	m.do(t, m.from, append(move, keys...)...)
}

// Finish moves all keys that are left, and then gives the slot to its new master. It returns when all nodes know that.
func (m *Migration) Finish(t testing.TB) {
	t.Helper()
	await(t, fmt.Sprintf("slot %d to be empty", m.slot), func() error { return m.moveRest(t) })
	id := m.c.id(m.to)
	m.c.handing.Lock()
	defer m.c.handing.Unlock()
	for _, node := range []*Server{m.to, m.from} { // the new one first, so that somebody has the slot at any time
		m.do(t, node, "CLUSTER", "SETSLOT", strconv.Itoa(m.slot), "NODE", id)
	}
	await(t, fmt.Sprintf("all nodes to know who has slot %d", m.slot), func() error {
		node, err := m.c.master(m.slot)
		if err == nil && node != m.to {
			err = fmt.Errorf("still %s", node.Addr())
		}
		return err
	})
}

// moveRest returns nil once there was nothing left to move.
func (m *Migration) moveRest(t testing.TB) error {
	t.Helper()
	const atOnce = "100"
	value, err := m.from.ask("CLUSTER", "GETKEYSINSLOT", strconv.Itoa(m.slot), atOnce)
	if err != nil {
		return err
	}
	var keys []string
	all, _ := value.([]any)
	for _, key := range all {
		text, _ := key.(string)
		keys = append(keys, text)
	}
	if len(keys) == 0 {
		return nil
	}
	m.Move(t, keys...)
	return fmt.Errorf("%d keys were there", len(keys))
}

// do repeats what does no harm if it is done twice, as a node under load may not answer in time.
func (m *Migration) do(t testing.TB, node *Server, args ...string) {
	t.Helper()
	await(t, strings.Join(args, " "), func() error {
		_, err := node.ask(args...)
		return err
	})
}

// at returns the node with that address, nil if there is none.
func (c *Cluster) at(addr string) *Server {
	for _, node := range c.nodes {
		if node.Addr() == addr {
			return node
		}
	}
	return nil
}

func (c *Cluster) id(node *Server) string {
	c.t.Helper()
	var id string
	await(c.t, "the id of "+node.Addr(), func() error {
		value, err := node.ask("CLUSTER", "MYID")
		id, _ = value.(string)
		return err
	})
	return id
}

// Refusals returns how many errors of a kind, such as "TRYAGAIN", the server has answered since [Server.ResetStats].
func (s *Server) Refusals(t testing.TB, kind string) int64 {
	t.Helper()
	all, err := info(s.Addr(), "errorstats")
	if err != nil {
		t.Fatalf("redistest: errorstats of %s: %v", s.Addr(), err)
	}
	n, _ := strconv.ParseInt(strings.TrimPrefix(all["errorstat_"+kind], "count="), 10, 64)
	return n
}

package send

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// How long commands block that wait for elements: on a cluster nobody ends them when
// an element appears on another node while a slot moves, and where CLIENT UNBLOCK is
// missing nobody ends them at all.
const (
	blockTime = 5 * time.Second
	slotTime  = time.Second
	turnTime  = 200 * time.Millisecond
	deafTime  = 50 * time.Millisecond
)

// mostBlocked is how many connections block on each node unless
// Config.BlockedConnections says otherwise.
const mostBlocked = 16

// NewPoller returns what those share who wait for elements. PutBack is given what
// nobody wants any more, by tasks that Close waits for.
func (s *Sender) NewPoller(putBack func(k *poller.Kind, key string, items []poller.Item)) *poller.Poller {
	block := blockTime // where nobody else waits for the connection
	if s.Cluster() {
		block = slotTime
	}
	return poller.New(&pops{s, putBack}, poller.Options{
		Connections: cmp.Or(s.BlockedConnections, mostBlocked), Bear: s.WatchdogTimeout, Block: block, Turn: turnTime, Short: deafTime,
		Linger: s.Linger, Grace: s.SendTimeout(),
	})
}

// pops is what a Poller pops with.
type pops struct {
	s       *Sender
	putBack func(k *poller.Kind, key string, items []poller.Item)
}

func (p *pops) Slot(key string) uint16   { return p.s.Topo.Slot(key) }
func (p *pops) Spawn(f func()) bool      { return p.s.Spawn(f) }
func (p *pops) Closing() <-chan struct{} { return p.s.Closing() }

// Node returns the node of a slot. Behind Sentinels it is the master of now, so that no connection waits at the old one.
func (p *pops) Node(slot uint16) string {
	if p.s.Redis.Mode() == rueidis.ClientModeSentinel {
		return p.s.Topo.current()
	}
	return p.s.Topo.Node(slot)
}

func (p *pops) PutBack(k *poller.Kind, key string, items []poller.Item) { p.putBack(k, key, items) }

func (p *pops) Lost(err error) {
	p.s.Logger.Warn("an element may be lost: the answer that brought it was", "err", err)
}

func (p *pops) Pop0(k *poller.Kind, key string) error {
	if k.Look != "" {
		_, err := p.s.Run(context.Background(), scripts.NewCommand(k.Look, scripts.Reads), []string{key}, k.LookWith)
		return err
	}
	_, err := p.Pop(k, key, 0)
	return err
}

func (p *pops) Replied(err error) bool {
	_, replied := rueidis.IsRedisErr(err)
	return replied
}

func (p *pops) Pop(k *poller.Kind, key string, n int) ([]poller.Item, error) {
	got, err := p.s.Run(context.Background(), scripts.NewCommand(k.Pop, scripts.Unsafe), []string{key}, k.Popping(n))
	if err != nil && n > 0 && !k.Tells && MayHaveRun(err) {
		p.Lost(err)
	}
	if err != nil || got.Nil {
		return nil, err
	}
	return k.Rest(got.RedisMessage)
}

func (p *pops) Judge(err error) poller.Verdict {
	switch {
	case Moving(err):
		return poller.Moving
	case strings.HasPrefix(err.Error(), "UNBLOCKED"): // the server was demoted
		p.s.Topo.MarkStale()
		return poller.Passing
	case strings.HasPrefix(err.Error(), "OOM "):
		return poller.Full
	}
	switch classify(err) {
	case final:
		return poller.Final
	case refused:
		p.s.Topo.MarkStale()
		return poller.Passing
	}
	p.s.Topo.MarkStale()
	return poller.Unknown
}

// Connect takes a connection of the node's own client, which a cluster's would
// lead astray.
func (p *pops) Connect(ctx context.Context, node string) (poller.Conn, error) {
	c, err := p.s.toBlock(ctx, node, "elements")
	if err != nil {
		return nil, err // not c: a nil in it would be a connection
	}
	return c, nil
}

// toBlock takes a connection to a node that may block, to wait for something.
func (s *Sender) toBlock(ctx context.Context, node, what string) (*blocked, error) {
	client, err := s.Topo.clientOf(ctx, node)
	if err != nil {
		s.Topo.MarkStale()
		return nil, err
	}
	c, err := pubsub.Take(ctx, client, func() *blocked {
		c, _ := client.Dedicate()
		return &blocked{DedicatedClient: c, node: client, timeout: s.SendTimeout()}
	})
	if err != nil {
		s.Topo.MarkStale()
		return nil, fmt.Errorf("connecting to wait for %s: %w", what, err)
	}
	return c, nil
}

// clientOf returns the client of a node, or where there is no cluster, of the master.
func (t *Topology) clientOf(ctx context.Context, node string) (rueidis.Client, error) {
	if !t.cluster {
		master, err := t.findMaster(ctx)
		if err != nil {
			return nil, err
		}
		node = master
	}
	if client, ok := t.client.Nodes()[node]; ok {
		return client, nil
	}
	return nil, fmt.Errorf("%w: node %q", errUnmet, node)
}

// blocked is a connection that blocks.
type blocked struct {
	rueidis.DedicatedClient
	node    rueidis.Client
	timeout time.Duration // of an exchange, beside what it blocks
	id      string
	deaf    bool
	once    sync.Once
}

// Probe finds out whether the connection lives, and whether what it waits in can
// be ended.
func (c *blocked) Probe(ctx context.Context) error {
	id, err := c.Do(ctx, c.B().Arbitrary("CLIENT", "ID").Build()).AsInt64()
	if _, answered := rueidis.IsRedisErr(err); answered {
		c.deaf = true
		return nil
	}
	if err != nil {
		return err
	}
	c.id = strconv.FormatInt(id, 10)
	_, err = c.unblock(ctx)
	_, c.deaf = rueidis.IsRedisErr(err)
	if c.deaf {
		return nil
	}
	return err
}

// mostRoom bounds how much longer an exchange may take for the length of its answer: so much later a server is found silent.
const mostRoom = 30 * time.Second

// room returns the time of an exchange whose answer has so many bytes.
func (c *blocked) room(bytes int64) time.Duration {
	return c.timeout + min(time.Duration(float64(bytes)/slowest*float64(time.Second)), mostRoom)
}

func (c *blocked) Block(k *poller.Kind, keys []string, timeout time.Duration, bytes int64) (had []string, it poller.Item, ok bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout+c.room(bytes))
	defer cancel()
	msg, err := c.Do(ctx, c.B().Arbitrary(k.Block).Args(k.Blocking(keys, timeout)...).Blocking()).ToMessage()
	if rueidis.IsRedisNil(err) {
		return nil, it, false, nil
	}
	if err == nil {
		had, it, err = k.Answer(msg)
	}
	return had, it, err == nil, err
}

// pipe sends the words for each name. The answers have so many bytes.
func (c *blocked) pipe(all []poller.Look, bytes int64, words func(poller.Look) []string) []rueidis.RedisResult {
	if len(all) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.room(bytes))
	defer cancel()
	commands := make(rueidis.Commands, len(all))
	for i, one := range all {
		commands[i] = c.B().Arbitrary(words(one)...).Build()
	}
	return c.DoMulti(ctx, commands...)
}

func (c *blocked) PopEach(all []poller.Look, bytes int64) []poller.Popped {
	popped := make([]poller.Popped, len(all))
	words := func(one poller.Look) []string {
		return append([]string{one.Kind.Pop, one.Name}, one.Kind.Popping(1)...)
	}
	for i, res := range c.pipe(all, bytes, words) {
		msg, err := res.ToMessage()
		switch {
		case rueidis.IsRedisNil(err):
		case err != nil:
			popped[i].Err = err
		default:
			popped[i].Items, popped[i].Err = all[i].Kind.Rest(msg)
		}
	}
	return popped
}

func (c *blocked) Look(all []poller.Look) []poller.Seen {
	seen := make([]poller.Seen, len(all))
	for i, res := range c.pipe(all, 0, func(one poller.Look) []string { return one.Kind.Has(one.Name) }) {
		msg, err := res.ToMessage()
		switch {
		case rueidis.IsRedisNil(err):
		case err != nil:
			seen[i].Err = err
		default:
			seen[i].Has, seen[i].Err = all[i].Kind.Had(msg)
		}
	}
	return seen
}

func (c *blocked) Pop(k *poller.Kind, key string, n int, bytes int64) ([]poller.Item, error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.room(bytes))
	defer cancel()
	msg, err := c.Do(ctx, c.B().Arbitrary(k.Pop, key).Args(k.Popping(n)...).Build()).ToMessage()
	if rueidis.IsRedisNil(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return k.Rest(msg)
}

func (c *blocked) Unblock() (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	return c.unblock(ctx)
}

// unblock goes by the node's common connection: this one is busy.
func (c *blocked) unblock(ctx context.Context) (bool, error) {
	n, err := c.node.Do(ctx, c.node.B().Arbitrary("CLIENT", "UNBLOCK", c.id).Build()).AsInt64()
	return n == 1, err
}

func (c *blocked) Deaf() bool { return c.deaf }

// Close ends the connection for good: nobody knows what still comes by it.
func (c *blocked) Close() { c.once.Do(c.DedicatedClient.Close) }

// Blocking is a connection of its own, for commands that wait for messages.
type Blocking struct{ *blocked }

// BlockingAt takes a connection to a node, see Node.
func (s *Sender) BlockingAt(ctx context.Context, node string) (Blocking, error) {
	c, err := s.toBlock(ctx, node, "messages")
	return Blocking{c}, err
}

// Ask sends a command that blocks for d at most.
func (c Blocking) Ask(d time.Duration, words ...string) (rueidis.RedisMessage, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d+c.timeout)
	defer cancel()
	return c.Do(ctx, c.B().Arbitrary(words...).Blocking()).ToMessage()
}

// MarkStale says that what is known of the servers has proved wrong.
func (s *Sender) MarkStale() { s.Topo.MarkStale() }

// Slot returns the slot of key; 0 where there is no cluster.
func (s *Sender) Slot(key string) uint16 { return s.Topo.Slot(key) }

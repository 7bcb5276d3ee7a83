package send

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/scripts"
)

const (
	// directly is how many calls may be under way before further ones go
	// together, unless Config.Directly says otherwise: below that, a call of its own is as fast.
	directly = 16
	// mostTogether bounds the calls of a batch. rueidis sends 2,000 or more by a connection
	// of their own.
	mostTogether = 256
	// mostSteps bounds the commands of a transaction in a batch.
	mostSteps = 6
	// mostOfOne bounds the bytes of a call in a batch, since those behind it wait for it.
	mostOfOne = 16 << 10
)

// batches are the calls of a client that go together: a batcher for each node. While few calls are under way each goes by
// itself.
type batches struct {
	under atomic.Int64 // calls under way
	only  *batcher     // to the only server, or master; nil on a cluster
	nodes atomic.Pointer[nodeTable]
}

// nodeTable has the batcher of each slot of a cluster: the index in all, and one more; 0 if its node is not known.
type nodeTable struct {
	of  [16384]uint16
	all []*batcher
}

// batcher sends the calls to one node. While many are under way a call joins a queue. The first
// call of a queue has a worker send it: the worker lets others run once, takes all that is queued, and sends it as one pipeline. The next
// batch does not wait for its answers, and no timer is involved, so that a call is sent
// as soon as the process has nothing else to run.
//
// Each call keeps its script, keys, answer and error. The loss of a batch is a lost
// reply for each of its calls, and a slow one may cost all of them their answers. So what
// takes something, such as LPOP, is sent alone: its lost reply would lose what it took. On a cluster a node's own client sends them, which follows no redirection: a call
// that meets one goes alone, by the client of all nodes.
type batcher struct {
	s     *Sender
	node  string   // "" for the only one
	send  func()   // flush, once
	fresh *batcher // to the same node, for calls that need another connection; nil for itself

	mu      sync.Mutex
	client  rueidis.Client // of the node
	queue   []*member
	spare   []*member // the memory of an earlier queue
	pending bool      // somebody is about to send
}

func newBatcher(s *Sender, node string) *batcher {
	b := &batcher{s: s, node: node, client: s.Redis, fresh: &batcher{s: s, node: node, client: s.Redis}}
	b.send, b.fresh.send = b.flush, b.fresh.flush
	return b
}

// goTo has b sent by the client of its node.
func (b *batcher) goTo(c rueidis.Client) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.client = c
}

// to returns the client that b is sent by.
func (b *batcher) to() rueidis.Client {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.client
}

// to returns the batcher of a slot, nil if its node is not known.
func (bs *batches) to(slot uint16) *batcher {
	if bs.only != nil {
		return bs.only
	}
	if t := bs.nodes.Load(); t != nil && t.of[slot] > 0 {
		return t.all[t.of[slot]-1]
	}
	return nil
}

// learn takes the map of a cluster, and the clients of its nodes. It is called by one at a time. A node's batcher stays for as
// long as the node is in the map. learn reports whether each node has a client.
func (bs *batches) learn(s *Sender, slots []slotRange) (all bool) {
	all = true
	last, clients := bs.nodes.Load(), s.Redis.Nodes()
	next, at := new(nodeTable), map[string]uint16{}
	for _, r := range slots {
		i, there := at[r.node]
		if c := clients[r.node]; !there && c != nil {
			b := last.find(r.node)
			if b == nil {
				b = newBatcher(s, r.node)
			}
			b.goTo(c)
			b.fresh.goTo(c)
			next.all = append(next.all, b)
			i = uint16(len(next.all))
		}
		at[r.node] = i
		all = all && i > 0
		for slot := int(r.from); slot <= int(r.to) && slot < len(next.of); slot++ {
			next.of[slot] = i
		}
	}
	bs.nodes.Store(next)
	return all
}

// find returns the batcher of a node, nil if there is none.
func (t *nodeTable) find(node string) *batcher {
	if t == nil {
		return nil
	}
	for _, b := range t.all {
		if b.node == node {
			return b
		}
	}
	return nil
}

// call is what a pipeline has for one operation: a command, or those of a transaction.
type call struct {
	cmd rueidis.Completed
	tx  *transaction // nil: it is one command
}

// transaction is a transaction as a pipeline has it.
type transaction struct {
	*scripts.Transaction
	cmds []rueidis.Completed
}

// slot returns the slot of its keys.
func (c *call) slot() uint16 {
	if c.tx != nil {
		return c.tx.cmds[1].Slot()
	}
	return c.cmd.Slot()
}

// member is one call of a batch. It may be used again once it was answered.
type member struct {
	call
	answer rueidis.RedisResult // the batch's until done
	// Of a call that was gathered, under the mutex of its gathering: whether it has its answer, and whether its caller left before.
	answered, left bool
	done           chan struct{} // with one place: a batch does not wait for who has gone
}

var members = sync.Pool{New: func() any { return &member{done: make(chan struct{}, 1)} }}

// inBatch returns op as a batch sends it; a script goes by its hash. It is false if op is sent alone.
// The types stand one by one, as in exec.
func inBatch(c rueidis.Client, op Operation, t *transfer, keys, args []string, fresh bool) (it call, ok bool) {
	if t.bytes > mostOfOne || t.by != nil || t.closed {
		return it, false
	}
	if s, is := op.(noMigrationRetry); is {
		op = s.Operation
	}
	switch op := op.(type) {
	case *scripts.Script:
		if op.LosesNothing() {
			return call{cmd: op.Build(c, keys, args, fresh)}, true
		}
	case *scripts.Command:
		if op.LosesNothing() {
			return call{cmd: op.Build(c, keys, args, fresh)}, true
		}
	case *scripts.Transaction:
		if cmds := op.Build(c, fresh); op.LosesNothing() && len(cmds) <= mostSteps {
			return call{tx: &transaction{op, cmds}}, true
		}
	case Identified:
		return call{cmd: op.Script.Build(c, keys, args, fresh)}, true
	}
	return it, false
}

// Crowded reports whether calls go together at the moment. Then a caller that may leave needs no
// other goroutine to send for it, see [Leaving]. What replicas confirm does not go together.
func (s *Sender) Crowded() bool {
	return s.ReplicaAcks == 0 && s.crowded()
}

// exec sends op once: in a batch if many calls are under way. A fresh call takes another connection than the shared one. Of a
// batch whose answers were lost, the calls that are sent again share such a connection.
func (s *Sender) exec(ctx context.Context, op Operation, t *transfer, keys, args []string, fresh bool, l *Leaving) (rueidis.RedisResult, error) {
	if l != nil || t.seat != nil || s.crowded() {
		if it, ok := inBatch(s.Redis, op, t, keys, args, fresh); ok {
			b := s.batches.to(it.slot() & lastSlot)
			if b == nil { // its node is not known yet
				s.Topo.refresh()
			} else {
				if fresh {
					b = b.fresh
				}
				var res rueidis.RedisResult
				var err error
				if t.seat != nil {
					res, err = t.seat.together(b, it, t, l)
				} else {
					res, err = b.together(it, l)
				}
				if errors.Is(res.NonRedisError(), rueidis.ErrClosing) {
					t.closed = true
				}
				if err != nil || !s.goesAlone(res) {
					return res, err
				}
			}
		}
	}
	if t.seat != nil {
		t.seat.goesAlone(t)
	}
	s.batches.under.Add(1)
	defer s.batches.under.Add(-1)
	if l == nil {
		return exec(s.Bounded(ctx), s.Redis, op, keys, args, fresh), nil
	}
	k, a := slices.Clone(keys), slices.Clone(args) // else those of every caller would be on the heap
	return l.beside(s, func() rueidis.RedisResult { return exec(s.Bounded(ctx), s.Redis, op, k, a, fresh) })
}

// lastSlot is the highest slot of a cluster. rueidis gives a command without one a number beyond.
const lastSlot = 16383

// crowded reports whether further calls go together.
func (s *Sender) crowded() bool { return s.batches.under.Load() >= s.directly }

// goesAlone reports whether a call was not done in its batch: the node does not know its script, or sent it elsewhere, or the
// connection was too old to be used (rueidis.ClientOption.ConnLifetime). Of the latter rueidis 1.0.79 sends a pipeline again,
// but not that of one node of a cluster.
func (s *Sender) goesAlone(res rueidis.RedisResult) bool {
	err := res.Error()
	reply, is := rueidis.IsRedisErr(err)
	if !is {
		return err != nil && err.Error() == "connection is expired"
	}
	_, moved := reply.IsMoved()
	if moved {
		s.Topo.MarkStale()
	}
	_, asks := reply.IsAsk()
	return moved || asks || reply.IsNoScript()
}

// together sends a call in a batch and returns its answer.
func (b *batcher) together(it call, l *Leaving) (rueidis.RedisResult, error) {
	b.s.batches.under.Add(1)
	m := members.Get().(*member)
	m.call = it
	b.join(m, l != nil)
	return m.await(l)
}

// await returns the answer to a call of a batch.
func (m *member) await(l *Leaving) (rueidis.RedisResult, error) {
	if l == nil {
		<-m.done
	} else if !l.await(m.done) {
		return rueidis.RedisResult{}, errLeft // m is left to its batch
	}
	res := m.answer
	m.call, m.answer, m.answered = call{}, rueidis.RedisResult{}, false
	members.Put(m)
	return res, nil
}

// join queues m, and has it sent. A caller that may leave is one that Close waits for.
func (b *batcher) join(m *member, leaves bool) {
	b.mu.Lock()
	b.queue = append(b.queue, m)
	begins := !b.pending
	b.pending = true
	b.mu.Unlock()
	switch {
	case !begins:
	case leaves:
		b.s.SpawnWithin(b.send)
	case !b.s.Spawn(b.send): // Close waits no more
		b.flush()
	}
}

// flush sends what is queued.
func (b *batcher) flush() {
	runtime.Gosched()  // without it batches have one member each
	b.s.Topo.refresh() // an old map is asked for again, though no call asks it
	batch, c, more := b.take()
	if more && !b.s.Spawn(b.send) {
		defer b.flush()
	}
	defer b.done(batch)
	b.exchange(c, batch, func() {})
}

// exchange sends a batch by the client of its node, and hands out the answers after answered.
func (b *batcher) exchange(c rueidis.Client, batch []*member, answered func()) {
	ctx := b.s.Bounded(context.Background())
	if len(batch) == 1 && batch[0].tx == nil {
		res := c.Do(ctx, batch[0].cmd)
		answered()
		batch[0].end(b, res)
		return
	}
	cmds := make(rueidis.Commands, 0, len(batch))
	for _, m := range batch {
		if m.tx != nil {
			cmds = append(cmds, m.tx.cmds...)
		} else {
			cmds = append(cmds, m.cmd)
		}
	}
	results := c.DoMulti(ctx, cmds...)
	for len(results) < len(cmds) { // of a client that is not rueidis' own
		results = append(results, rueidis.NewErrorResult(errNoResult))
	}
	answered()
	for _, m := range batch {
		if m.tx == nil {
			m.end(b, results[0])
			results = results[1:]
		} else {
			n := len(m.tx.cmds)
			m.end(b, m.tx.Fold(results[:n]))
			results = results[n:]
		}
	}
}

// errNoResult answers a call for which the client returned no result.
var errNoResult = errors.New("the client returned no result for the call")

// take returns what goes out together, the client that sends it, and whether others are queued behind it.
func (b *batcher) take() (batch []*member, c rueidis.Client, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) > mostTogether {
		batch = slices.Clone(b.queue[:mostTogether])
		b.queue = slices.Delete(b.queue, 0, mostTogether)
		return batch, b.client, true
	}
	batch, b.queue, b.spare, b.pending = b.queue, b.spare, nil, false
	return batch, b.client, false
}

// done keeps the memory of a batch that was answered for a later queue.
func (b *batcher) done(batch []*member) {
	clear(batch)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spare = batch[:0]
}

func (m *member) end(b *batcher, res rueidis.RedisResult) {
	b.s.batches.under.Add(-1)
	m.answer = res
	m.done <- struct{}{}
}

// errLeft says that the caller has left while its call was under way.
var errLeft = errors.New("the caller has left")

// Leaving is the context of a call on its caller's own goroutine, which may leave it: a send
// that is not answered by then is one of which nobody knows whether it ran. It is not used again:
// a send that was left may still ask it for values.
type Leaving struct {
	context.Context                 // of the call
	Over            <-chan struct{} // the caller wants to leave
	Closing         <-chan struct{} // or the client closes; nil: that is no reason
	Patience        time.Duration   // how much time the call has then

	until time.Time // when it is over; zero: nobody wants to leave yet
	left  bool
}

// Left reports whether the caller has left.
func (l *Leaving) Left() bool { return l.left }

// Value returns l for the key of what goes with a call.
func (l *Leaving) Value(key any) any {
	if _, is := key.(callKey); is {
		return l
	}
	return l.Context.Value(key)
}

// await reports whether done came before the caller left.
func (l *Leaving) await(done <-chan struct{}) bool {
	if l.until.IsZero() {
		select {
		case <-done:
			return true
		case <-l.Over:
		case <-l.Closing:
		}
		l.until = time.Now().Add(l.Patience)
	}
	timer := time.NewTimer(time.Until(l.until))
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		l.left = true
		return false
	}
}

// beside runs a send that is no part of a batch on another goroutine.
func (l *Leaving) beside(s *Sender, send func() rueidis.RedisResult) (rueidis.RedisResult, error) {
	var res rueidis.RedisResult
	done := make(chan struct{}, 1)
	s.SpawnWithin(func() { res = send(); done <- struct{}{} })
	if !l.await(done) {
		return rueidis.RedisResult{}, errLeft
	}
	return res, nil
}

// over reports, behind a pause, whether the caller has no more time.
func (l *Leaving) over() bool {
	if l == nil || l.until.IsZero() || time.Now().Before(l.until) {
		return false
	}
	l.left = true
	return true
}

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
	// mostOfOne bounds the bytes of a call in a batch, since those behind it wait for it.
	mostOfOne = 16 << 10
)

// batcher sends the calls to the only server, or master. While few are under way each goes by itself. Beyond
// that a call joins a queue, and whoever finds that nobody is about to send has a worker do
// that: it lets others run once, takes all that is queued, and sends it as one pipeline. The next
// batch does not wait for its answers, and no timer is involved, so that a call is sent
// as soon as the process has nothing else to run.
//
// Each call keeps its script, keys, answer and error. The loss of a batch is a lost
// reply for each of its calls, and a slow one may cost all of them their answers: so only
// calls that may run twice go together. On a cluster each call goes by itself.
type batcher struct {
	s     *Sender
	send  func()       // flush, once
	under atomic.Int64 // calls under way

	mu      sync.Mutex
	queue   []*member
	spare   []*member // the memory of an earlier queue
	pending bool      // somebody is about to send
}

func newBatcher(s *Sender) *batcher {
	b := &batcher{s: s}
	b.send = b.flush
	return b
}

// member is one call of a batch. It may be used again once it was answered.
type member struct {
	cmd    rueidis.Completed
	answer rueidis.RedisResult // the batch's until done
	done   chan struct{}       // with one place: a batch does not wait for who has gone
}

var members = sync.Pool{New: func() any { return &member{done: make(chan struct{}, 1)} }}

// inBatch returns op as a batch sends it; a script goes by its hash. It is false if op is sent alone.
// The types stand one by one, as in exec.
func inBatch(c rueidis.Client, op Operation, t *transfer, keys, args []string) (cmd rueidis.Completed, ok bool) {
	if t.bytes > mostOfOne || t.by != nil || t.single {
		return cmd, false
	}
	if s, is := op.(noMigrationRetry); is {
		op = s.Operation
	}
	switch op := op.(type) {
	case *scripts.Script:
		return op.Build(c, keys, args), true
	case *scripts.Command:
		return op.Build(c, keys, args), true
	case Identified:
		return op.Script.Build(c, keys, args), true
	}
	return cmd, false
}

// Crowded reports whether calls go together at the moment. Then a caller that may leave needs no
// other goroutine to send for it, see [Leaving]. What replicas confirm does not go together.
func (s *Sender) Crowded() bool {
	return s.batch != nil && s.ReplicaAcks == 0 && s.batch.crowded()
}

// exec sends op once: in a batch if many calls are under way.
func (s *Sender) exec(ctx context.Context, op Operation, t *transfer, keys, args []string, l *Leaving) (rueidis.RedisResult, error) {
	b := s.batch
	if b == nil {
		return exec(s.Bounded(ctx), s.Redis, op, keys, args), nil
	}
	if l != nil || b.crowded() {
		if cmd, ok := inBatch(s.Redis, op, t, keys, args); ok {
			res, err := b.together(cmd, l)
			if err != nil || !goesAlone(res) {
				return res, err
			}
		}
	}
	b.under.Add(1)
	defer b.under.Add(-1)
	if l == nil {
		return exec(s.Bounded(ctx), s.Redis, op, keys, args), nil
	}
	k, a := slices.Clone(keys), slices.Clone(args)
	return l.beside(s, func() rueidis.RedisResult { return exec(s.Bounded(ctx), s.Redis, op, k, a) })
}

// crowded reports whether further calls go together.
func (b *batcher) crowded() bool { return b.under.Load() >= b.s.directly }

// goesAlone reports whether a member of a batch was refused since the server does not know its script.
func goesAlone(res rueidis.RedisResult) bool {
	reply, is := rueidis.IsRedisErr(res.Error())
	return is && reply.IsNoScript()
}

// together sends cmd in a batch and returns its answer.
func (b *batcher) together(cmd rueidis.Completed, l *Leaving) (rueidis.RedisResult, error) {
	b.under.Add(1)
	m := members.Get().(*member)
	m.cmd = cmd
	b.join(m, l != nil)
	if l == nil {
		<-m.done
	} else if !l.await(m.done) {
		return rueidis.RedisResult{}, errLeft // m is left to its batch
	}
	res := m.answer
	m.cmd, m.answer = rueidis.Completed{}, rueidis.RedisResult{}
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
		b.s.goOn(b.send)
	case !b.s.Spawn(b.send): // Close waits no more
		b.flush()
	}
}

// flush sends what is queued.
func (b *batcher) flush() {
	runtime.Gosched() // without it batches have one member each
	batch, more := b.take()
	if more && !b.s.Spawn(b.send) {
		defer b.flush()
	}
	defer b.done(batch)
	n, ctx := len(batch), b.s.Bounded(context.Background())
	if n == 1 {
		batch[0].end(b, b.s.Redis.Do(ctx, batch[0].cmd))
		return
	}
	cmds := make(rueidis.Commands, n)
	for i, m := range batch {
		cmds[i] = m.cmd
	}
	results := b.s.Redis.DoMulti(ctx, cmds...)
	for i, m := range batch {
		if i == len(results) { // of a client that is not rueidis' own
			results = append(results, rueidis.NewErrorResult(errNoResult))
		}
		m.end(b, results[i])
	}
}

// errNoResult answers a call for which the client returned no result.
var errNoResult = errors.New("the client returned no result for the call")

// take returns what goes out together, and whether others are queued behind it.
func (b *batcher) take() (batch []*member, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) > mostTogether {
		batch = slices.Clone(b.queue[:mostTogether])
		b.queue = slices.Delete(b.queue, 0, mostTogether)
		return batch, true
	}
	batch, b.queue, b.spare, b.pending = b.queue, b.spare, nil, false
	return batch, false
}

// done keeps the memory of a batch that was answered for a later queue.
func (b *batcher) done(batch []*member) {
	clear(batch)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spare = batch[:0]
}

func (m *member) end(b *batcher, res rueidis.RedisResult) {
	b.under.Add(-1)
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
	s.goOn(func() { res = send(); done <- struct{}{} })
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

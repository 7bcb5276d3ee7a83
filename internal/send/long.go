package send

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// What takes long for its length goes by a connection of its own, with the time that its
// length takes. On the connection that all share, everybody's requests would wait behind
// it, and rueidis would close that since its own PING does. Two go to a node at a time.
//
// The length of a request is known, and that of an answer if it was expected. An answer
// that did not come in time is asked for its length, which is a small answer, and then
// read in this way. A server that does not answer that either is silent.
const (
	large   = 1 << 20
	fastest = 8 << 20 // bytes a second, halved with each try
	slowest = 1 << 20

	mostLong  = 2
	mostSlow  = 5 // replies that are lost, of what is only slow
	mostBlind = 2 // tries of an answer whose length nothing tells
)

// Sizing says how long the answer to an operation is.
type Sizing struct {
	// By answers with the number of bytes; nil: nothing tells, and each try has four
	// times as long as the one before.
	By Operation
	// Of is what By takes, of the keys and the arguments of the operation; nil: those.
	Of func(keys, args []string) (k, a []string)
	// Writes says that the operation does not only read.
	Writes bool
}

// sized is an operation whose answer may be long.
type sized struct {
	Operation
	by *Sizing
}

// Sized returns an operation whose answer may be long. If it only reads, the error of Run does
// not wrap ErrOutcomeUnknown.
func Sized(op Operation, by Sizing) Operation { return &sized{op, &by} }

// expected is an operation with an answer of about so many bytes.
type expected struct {
	Operation
	bytes int64
}

// Expect returns op with an answer of about so many bytes, as earlier ones had.
func Expect(op Operation, bytes int64) Operation {
	if bytes < large {
		return op
	}
	return expected{op, bytes}
}

// transfer is what is known of the length of an exchange.
type transfer struct {
	by     *Sizing         // nil: its answer is not long
	bytes  int64           // of request and answer, as far as they are known
	asked  bool            // how long the answer is
	blind  bool            // nothing tells how long it is
	tries  int             // as something long
	late   bool            // the last reply did not come in time
	silent bool            // the server did not answer a small question either
	single bool            // it is sent once
	acked  bool            // a send has the time of the replicas, too
	pure   bool            // it changes nothing, whatever its length
	closed bool            // the client of its node was closed: it is sent by the client of all nodes
	full   int             // sends that a server without memory refuses; 0: as many as of other refusals
	tell   func(why error) // is called at each failed send, if there is one

	leaving *Leaving // the caller may leave each send; or nil
	seat    *Seat    // what gathers the calls of its caller; or nil
	counted bool     // the seat knows that its caller waits

	began  time.Duration // before the first send
	first  time.Duration // before the first send whose reply was lost
	losses int
	at     time.Duration // of the last loss
}

// transferOf returns op without what says how long its answer is, and that.
func transferOf(op Operation, keys, args []string) (Operation, transfer) {
	var t transfer
	for _, key := range keys {
		t.bytes += int64(len(key))
	}
	for _, arg := range args {
		t.bytes += int64(len(arg))
	}
	if x, is := op.(expected); is {
		t.bytes, op = t.bytes+x.bytes, x.Operation
	}
	if s, is := op.(*sized); is {
		t.by, op = s.by, s.Operation
	}
	if r, is := op.(interface{ OnlyReads() bool }); is {
		t.pure = r.OnlyReads()
	}
	t.single = !op.Repeatable()
	return op, t
}

// long reports whether it goes by a connection of its own.
func (t *transfer) long() bool { return t.bytes >= large || t.blind }

// lost notes that a reply was lost now, because of err.
func (t *transfer) lost(err error, now time.Duration) {
	t.losses++
	t.at = now
	t.late = (t.by != nil || t.long()) && isLate(err)
}

// more reports whether it may be sent again though replies were lost so often: the server
// is not silent, since it answers what is small. What writes is not sent when the server
// may have forgotten, in memory, that it was done before.
func (t *transfer) more(losses int, took, send, memory time.Duration) bool {
	switch {
	case t.silent, !t.long() && (t.by == nil || t.asked):
		return false
	case t.forgotten(took, send, memory):
		return false
	case t.blind:
		return t.tries < mostBlind
	}
	return losses < mostSlow
}

// forgotten reports whether the server may have forgotten, by the end of a further send,
// that it was done before.
func (t *transfer) forgotten(took, send, memory time.Duration) bool {
	return !t.reads() && took+t.room(send) > memory
}

// reads reports whether what is sent changes nothing.
func (t *transfer) reads() bool { return t.pure || t.by != nil && !t.by.Writes }

// room returns the time of the next try: send is that of a small one.
func (t *transfer) room(send time.Duration) time.Duration {
	rate := int64(max(fastest>>t.tries, slowest))
	switch {
	case t.blind:
		return max(send<<(2+2*t.tries), send+time.Duration(t.bytes)*time.Second/slowest)
	case t.single, t.by != nil && t.by.Writes:
		rate = slowest // a further send, if there is one, may bring something else
	}
	return send + time.Duration(float64(t.bytes)/float64(rate)*float64(time.Second))
}

// longLane is what is long and goes to a node: so many at a time.
type longLane struct {
	places.Entry
	free chan struct{}
}

// errNoTurn says that nothing was sent, as others were ahead for as long as ctx lasted.
var errNoTurn = errors.New("not sent: other long exchanges with the server are under way")

// NotSent reports whether nothing was sent, because other long exchanges were ahead.
func NotSent(err error) bool { return errors.Is(err, errNoTurn) }

// errOld says that nothing more was sent, since the server may have forgotten what it was
// sent before.
var errOld = errors.New("sent too long ago to be sent again")

// nodeOf returns the node of the first of the keys, as far as it is known.
func (s *Sender) nodeOf(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return s.Topo.Node(s.Topo.Slot(keys[0]))
}

// atLength sends what is long, to the node of the keys. ctx ends the wait for others; the
// exchange has a bound of its own.
func (s *Sender) atLength(ctx context.Context, keys []string, t *transfer, send func(ctx context.Context) rueidis.RedisResult) (rueidis.RedisResult, error) {
	node := s.nodeOf(keys)
	lane := s.long.Get(node)
	defer s.long.Put(node, lane)
	came := s.Now().Mono
	select {
	case lane.free <- struct{}{}:
		defer func() { <-lane.free }()
	case <-ctx.Done():
		return rueidis.RedisResult{}, errNoTurn
	case <-s.Base().Done():
		return rueidis.RedisResult{}, errNoTurn
	}
	now := s.Now().Mono
	t.at += now - came // in which nothing was refused
	if t.losses > 0 && t.forgotten(now-t.began, s.SendTimeout(), s.Remembered()) {
		return rueidis.RedisResult{}, errOld // while others were ahead
	}
	bound, cancel := context.WithTimeout(&sendContext{Context: s.Base(), values: ctx}, t.room(s.SendTimeout()))
	defer cancel()
	t.tries++
	return send(bound), nil
}

// weigh is called behind a reply that did not come in time. It asks how long the answer
// is, or whether the server answers at all. ctx has the bound of a small exchange.
func (s *Sender) weigh(ctx context.Context, t *transfer, keys, args []string) error {
	t.late = false
	if t.asked || t.by == nil || t.by.By == nil {
		if t.by != nil && t.by.By == nil && !t.blind {
			t.blind, t.tries = true, 0 // also of what was expected: it is longer than the ones before
		}
		return t.heard(s.ping(ctx, keys))
	}
	t.asked = true
	if t.by.Of != nil {
		keys, args = t.by.Of(keys, args)
	}
	n, err := t.by.By.ExecFresh(ctx, s.Redis, keys, args).AsInt64()
	if _, answered := rueidis.IsRedisErr(err); answered {
		err = nil // such as of a key that is of another type now: what is asked for says so
	}
	t.bytes = max(t.bytes, n)
	return t.heard(err)
}

func (t *transfer) heard(err error) error {
	t.silent = err != nil
	return err
}

// Answers reports whether the node of a key answers something small, by a connection of its own.
func (s *Sender) Answers(key string) bool {
	return s.ping(s.Bounded(context.Background()), []string{key}) == nil
}

// ping asks the node of the keys for something small, by a connection of its own.
func (s *Sender) ping(ctx context.Context, keys []string) error {
	c := s.Topo.Reach(s.nodeOf(keys))
	err := c.Do(ctx, c.B().Arbitrary("PING").Blocking()).Error()
	if _, answered := rueidis.IsRedisErr(err); answered {
		return nil
	}
	return err
}

// HashLengths is how many bytes some fields of a hash have.
var HashLengths = scripts.Must(lua, "lua/lengths.lua")

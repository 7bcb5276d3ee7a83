package reliable

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// State is where a message is.
type State string

// The states.
const (
	Ready   State = "ready"   // to be taken
	Delayed State = "delayed" // waits for its time, or to be tried again
	Running State = "running" // somebody has it
	Behind  State = "behind"  // waits for another of its group
	Dead    State = "dead"    // was buried
)

// Info is what the queue knows of a message.
type Info struct {
	ID       int64
	State    State
	Attempts int               // that have failed, since it was added or brought back by Redrive, and before
	When     time.Time         // of a delayed message when it is due, of a running one when its lease ends, of a dead one when it was buried
	Cause    string            // of the last failure, up to a kilobyte
	AddedAt  time.Time         // by the clock of who added it
	Header   map[string]string // what [WithHeader] has given
	Priority int
	Group    string
	Unique   string
	Body     []byte // the value as the codec wrote it
}

// Stats is how a queue is.
type Stats struct {
	Ready, Delayed, Running, Behind, Dead int64 // messages in each state
	Waiting                               int64 // clients that wait for messages

	Paused    bool
	PausedFor time.Duration // 0: until Resume
	Oldest    time.Time     // when the next that is ready was added; zero: there is none

	// Since the queue was made: how many messages were added, acknowledged and removed, how
	// many attempts were ended by Nack and by leases that ran out, and how many messages
	// have expired and were buried.
	Added, Acked, Removed, Retried, RanOut, Expired, Buried int64
}

// Stats counts. Cost: one script call. Errors: ctx's error and cause; [ErrOption];
// [ErrClosed]; those of Redis.
func (q *Queue[T]) Stats(ctx context.Context) (Stats, error) {
	s, err := look(ctx, q, statsScript, parseStats, "")
	return s, q.failed("count", err)
}

func parseStats(all []string) (s Stats, err error) {
	if len(all) < 8 || len(all)%2 != 0 {
		return s, errAnswer
	}
	var n [7]int64
	for i := range n {
		if n[i], err = strconv.ParseInt(all[i], 10, 64); err != nil {
			return s, errAnswer
		}
	}
	s = Stats{Delayed: n[1], Running: n[2], Behind: n[3], Dead: n[4], Waiting: n[5], Paused: n[6] != -2}
	s.Ready = max(n[0]-n[1]-n[2]-n[3]-n[4], 0)
	s.PausedFor = time.Duration(max(n[6], 0)) * time.Millisecond
	if h, _, bad := unseal(all[7]); all[7] != "" && bad == nil {
		s.Oldest = time.UnixMilli(h.Added)
	}
	of := map[string]*int64{
		"added": &s.Added, "acked": &s.Acked, "removed": &s.Removed, "retried": &s.Retried, "ranout": &s.RanOut,
		"expired": &s.Expired, "dead": &s.Buried,
	}
	for i := 8; i < len(all); i += 2 {
		if counter := of[all[i]]; counter != nil {
			*counter, _ = strconv.ParseInt(all[i+1], 10, 64)
		}
	}
	return s, nil
}

// Find is what the queue knows of a message. The error is [ErrNotFound] if there is none
// of that id, or no more. Cost: one script call.
func (q *Queue[T]) Find(ctx context.Context, id int64) (Info, error) {
	all, err := look(ctx, q, findScript, parseInfos, decimal(id))
	if err == nil && len(all) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Info{}, q.failed("find message "+decimal(id)+" of", err)
	}
	return all[0], nil
}

// pageSize is how many messages a script looks at.
const pageSize = 100

// Messages yields the messages in a state, in its order. What comes and goes meanwhile
// may be passed over, or come twice. The first error is the last. Cost: one script call
// for 100 messages, with their bodies.
func (q *Queue[T]) Messages(ctx context.Context, of State) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		switch of {
		case Ready, Delayed, Running, Behind, Dead:
		default:
			yield(Info{}, q.failed("list", fmt.Errorf("%w: no state %q", ErrOption, string(of))))
			return
		}
		for at := 0; ; at += pageSize {
			seen := 0
			all, err := look(ctx, q, listScript, func(texts []string) (_ []Info, err error) {
				if len(texts) == 0 {
					return nil, errAnswer
				}
				seen, err = strconv.Atoi(texts[0])
				if err != nil {
					return nil, err
				}
				return parseInfos(texts[1:])
			}, string(of), decimal(at), decimal(pageSize))
			if err != nil {
				yield(Info{}, q.failed("list", err))
				return
			}
			for _, info := range all {
				if !yield(info, nil) {
					return
				}
			}
			if seen < pageSize {
				return
			}
		}
	}
}

// Decode is the value of a message. The error is a *[codec.DecodeError].
func (q *Queue[T]) Decode(info Info) (v T, err error) {
	if err = q.bad; err == nil {
		if v, err = codec.Decode(q.codec, string(info.Body)); err != nil {
			err = &codec.DecodeError{Name: q.name, Key: decimal(info.ID), Bytes: info.Body, Cause: err}
		}
	}
	return v, q.failed("read a message of", err)
}

const infoFields = 7

func parseInfos(all []string) (infos []Info, err error) {
	if len(all)%infoFields != 0 {
		return nil, errAnswer
	}
	for ; len(all) > 0; all = all[infoFields:] {
		info := Info{State: State(all[1]), Cause: all[4]}
		var when float64
		var errs [3]error
		info.ID, errs[0] = strconv.ParseInt(all[0], 10, 64)
		info.Attempts, errs[1] = strconv.Atoi(all[2])
		when, errs[2] = strconv.ParseFloat(all[3], 64)
		if err := errors.Join(errs[:]...); err != nil {
			return nil, err
		}
		if when > 0 {
			info.When = time.UnixMilli(int64(when))
		}
		info.options(all[5])
		if h, value, bad := unseal(all[6]); bad == nil {
			info.AddedAt, info.Header, info.Body = time.UnixMilli(h.Added), h.Values, []byte(value)
		} else {
			info.Body = []byte(all[6])
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// options reads what opt has of the message.
func (i *Info) options(text string) {
	fields := strings.SplitN(text, "|", 4)
	if len(fields) < 4 {
		return
	}
	i.Priority, _ = strconv.Atoi(fields[0])
	n, _ := strconv.Atoi(fields[2])
	n = min(max(n, 0), len(fields[3]))
	i.Unique, i.Group = fields[3][:n], fields[3][n:]
}

// Remove takes a message out that nobody has ever had. It is certain: nil says that nobody
// has had it, and nobody will. [ErrTaken] says that somebody has it, or has had it, and
// [ErrNotFound] that there is none of that id, or no more; nothing was changed then. See
// [Queue.Cancel] and [Queue.Purge].
//
// Cost: one script call. Errors: also ctx's error and cause; [ErrOption]; [ErrUnknown] if the
// reply was lost again and again, or ctx ended before it: the message may be removed, or be
// yet; [ErrClosed]; those of Redis.
func (q *Queue[T]) Remove(ctx context.Context, id int64) error {
	n, err := q.request(ctx, removeScript, decimal(id), "0", q.of.cancelled, q.h.e.Publish(), q.of.done)
	switch {
	case err != nil:
	case n == 0:
		err = ErrNotFound
	case n == 2:
		err = ErrTaken
	}
	return q.failed("remove message "+decimal(id)+" of", err)
}

// Cancel takes a message out, whatever its state. Who has it is told: the message's contexts
// end with [ErrCancelled], at once if the word gets through, and at the next renewal of the lease
// if not; its ack is [ErrLost] or [ErrCancelled]. The error is [ErrNotFound] if there is none of that
// id, or no more. Otherwise it is as [Queue.Remove].
func (q *Queue[T]) Cancel(ctx context.Context, id int64) error {
	n, err := q.request(ctx, removeScript, decimal(id), "1", q.of.cancelled, q.h.e.Publish(), q.of.done)
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	return q.failed("cancel message "+decimal(id)+" of", err)
}

// Redrive has dead messages tried again, with as many attempts as new ones; the numbers of
// the attempts go on. It returns how many were dead and are no more. One whose unique key
// another message has by now stays dead. Cost: one script call for 1,000. Errors: as
// [Queue.Remove]; what was done before an error is done.
func (q *Queue[T]) Redrive(ctx context.Context, ids ...int64) (n int64, err error) {
	for err == nil && len(ids) > 0 {
		some := ids[:min(len(ids), mostAdded)]
		ids = ids[len(some):]
		var more int64
		more, err = q.request(ctx, redriveScript, append([]string{q.of.wake, q.h.e.Publish(), counts(q.h.e)}, decimals(some)...)...)
		n += more
	}
	return n, q.failed("redrive messages of", err)
}

// Purge takes dead messages out: those of the ids, or all if there are none. It returns how
// many. Otherwise it is as [Queue.Redrive].
func (q *Queue[T]) Purge(ctx context.Context, ids ...int64) (n int64, err error) {
	all := len(ids) == 0
	for more := int64(mostAdded); err == nil && (len(ids) > 0 || all && more == mostAdded); n += more {
		some := ids[:min(len(ids), mostAdded)]
		ids = ids[len(some):]
		more, err = q.request(ctx, purgeScript, decimals(some)...)
	}
	return n, q.failed("purge", err)
}

func decimals(ids []int64) (texts []string) {
	for _, id := range ids {
		texts = append(texts, decimal(id))
	}
	return texts
}

// Pause has nothing be taken from the queue, by any process, for a time of d, or until
// Resume if d is 0. Messages are still added, and what was taken is settled. Cost: one script
// call. Errors: as [Queue.Remove], without those of its own.
func (q *Queue[T]) Pause(ctx context.Context, d time.Duration) error {
	var err error
	if d != 0 {
		err = engine.CheckTTL("pause", d)
	}
	if err == nil {
		_, err = q.request(ctx, pauseScript, decimal(engine.Millis(d)), q.of.wake, q.h.e.Publish(), counts(q.h.e))
	}
	return q.failed("pause", err)
}

// Resume ends a pause. Otherwise it is as [Queue.Pause].
func (q *Queue[T]) Resume(ctx context.Context) error {
	_, err := q.request(ctx, pauseScript, "-1", q.of.wake, q.h.e.Publish(), counts(q.h.e))
	return q.failed("resume", err)
}

// Delete takes the queue away, with all that it has and has counted. Its last id stays, so
// that no number is given twice, and dedup keys stay for their time. Messages that somebody
// has are lost to it. It reports whether there was one. Cost: one script call, sent once.
// Errors: ctx's error and cause; [ErrOption]; [ErrUnknown]; [ErrClosed]; those of Redis.
func (q *Queue[T]) Delete(ctx context.Context) (there bool, err error) {
	if err = q.usable(ctx); err == nil {
		there, err = engine.Writing(q.h.e, ctx, func() (bool, error) {
			return engine.Yes(q.h.e.Run(ctx, deleteScript, q.of.parts, []string{q.of.wake, q.h.e.Publish(), counts(q.h.e)}))
		})
	}
	return there, q.failed("delete", err)
}

// look is one script that changes nothing.
func look[T, A any](ctx context.Context, q *Queue[T], s *scripts.Script, parse func([]string) (A, error), args ...string) (a A, err error) {
	if err = q.usable(ctx); err != nil {
		return a, err
	}
	return engine.Reading(q.h.e, ctx, func() (A, error) {
		got, err := q.h.e.Run(ctx, s, q.of.parts, args)
		var all []string
		if err == nil {
			all, err = texts(got)
		}
		if err != nil {
			var none A
			return none, err
		}
		return parse(all)
	})
}

// texts is an answer of texts and numbers.
func texts(got engine.Answer) ([]string, error) {
	all, err := got.ToArray()
	if err != nil {
		return nil, err
	}
	out := make([]string, len(all))
	for i, one := range all {
		if n, isNumber := one.AsInt64(); one.IsInt64() && isNumber == nil {
			out[i] = decimal(n)
		} else if out[i], err = one.ToString(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// request is one script whose answer the server remembers until it has come.
func (q *Queue[T]) request(ctx context.Context, s *scripts.Script, args ...string) (int64, error) {
	if err := q.usable(ctx); err != nil {
		return 0, err
	}
	return engine.Writing(q.h.e, ctx, func() (int64, error) {
		latch := keys.QueueDone(q.of.key, q.h.requests.ID())
		got, err := q.h.e.Run(ctx, engine.Identified{Script: s}, q.of.on(latch), append([]string{engine.MemoryMillis}, args...))
		if err == nil && !got.Replayed { // else an earlier send may still arrive
			q.h.requests.Forget(q.of.key, latch)
		}
		return engine.Number(got, err)
	})
}

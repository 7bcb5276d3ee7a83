package reliable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
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
	Done    State = "done"    // was acknowledged, and is kept: see [WithKeepDone]
)

// Info is what the queue knows of a message.
type Info struct {
	ID       int64             // of the message in its queue
	State    State             // where the message is
	Attempts int               // that have failed, since it was added or brought back by Redrive, and before
	When     time.Time         // of a delayed message when it is due, of a running one when its lease ends, of a dead one when it was buried, or comes to a handler of [Queue.Dead] again, of one that is done when it was acknowledged
	Cause    string            // of the last failure, up to a kilobyte
	AddedAt  time.Time         // by the clock of who added it
	Header   map[string]string // what [WithHeader] has given
	Priority int               // what [WithPriority] has given
	// MaxAttempts is what [WithAttempts] has given; 0: nothing, so that the terms of the queue count.
	MaxAttempts int
	Group       string // what [WithGroup] has given
	Unique      string // the key that [WithUnique] has given
	Body        []byte // the value as the codec wrote it
	// Progress is JSON: what [Message.SetProgress] has said last; nil: nothing.
	Progress json.RawMessage

	// Delivery is the number that [Message.Delivery] has, of a running message; of a done one it is that of the delivery
	// that was acknowledged. It is zero if an older version has taken the message.
	Delivery int64
	// Owner is the client that holds a running message. It is zero if an older version has taken the message.
	Owner Owner
}

// Owner is the client that has a message.
type Owner struct {
	Client string // its id; empty: nobody has the message
	PID    int    // of its process
	Host   string // name of the machine, as the process knows it
}

// Stats is how a queue is.
type Stats struct {
	Ready, Delayed, Running, Behind, Dead int64 // messages in each state
	Waiting                               int64 // clients that wait for messages

	Paused    bool          // see [Queue.Pause]
	PausedFor time.Duration // 0: until Resume
	Oldest    time.Time     // when the next that is ready was added; zero: there is none

	// Since the queue was made: how many messages were added, acknowledged and removed, how
	// many attempts were ended by Nack and by leases that ran out, and how many messages
	// have expired and were buried.
	Added, Acked, Removed, Retried, RanOut, Expired, Buried int64
}

// Stats counts. Cost: one script call. Errors: ctx's error and cause; [ErrInvalidArgument];
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

// Find returns what the queue knows of a message. The error is [ErrNotFound] if there is none
// of that id, or no more. One that is done is known for as long as [WithKeepDone] says. Cost: one script call, which looks through the leases unless the
// message is delayed or dead: 1 ms of the server for some ten thousand.
func (q *Queue[T]) Find(ctx context.Context, id int64) (Info, error) {
	all, err := look(ctx, q, finds, parseInfos, decimal(id))
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

// Messages yields the messages in a state, in its order. It waits for none that are added later;
// ctx bounds each call. Messages that enter or leave the state meanwhile may be missed, or come
// twice. The first error is the last.
//
// Cost: one script call for 100 messages, or a megabyte of bodies. Errors: [ErrInvalidArgument],
// also for a state that cannot be listed; ctx's error and cause; [ErrClosed]; those of Redis.
func (q *Queue[T]) Messages(ctx context.Context, of State) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		switch of {
		case Ready, Delayed, Running, Behind, Dead:
		default:
			yield(Info{}, q.failed("list", fmt.Errorf("%w: no state %q", ErrInvalidArgument, string(of))))
			return
		}
		for at, more := 0, true; more; {
			var seen int
			all, err := look(ctx, q, lists, func(texts []string) (_ []Info, err error) {
				if len(texts) < 2 {
					return nil, errAnswer
				}
				seen, err = strconv.Atoi(texts[0])
				if err != nil {
					return nil, err
				}
				more = texts[1] == "1" && seen > 0
				return parseInfos(texts[2:])
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
			at += seen
		}
	}
}

// Decode returns the value of a message. The error is a *[codec.DecodeError].
func (q *Queue[T]) Decode(info Info) (v T, err error) {
	if err = q.bad; err == nil {
		if v, err = codec.Decode(q.codec, string(info.Body)); err != nil {
			err = &codec.DecodeError{Name: q.name, Key: decimal(info.ID), Bytes: info.Body, Cause: err}
		}
	}
	return v, q.failed("read a message of", err)
}

const infoFields = 10

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
		if all[6] != "" {
			if info.Delivery, err = strconv.ParseInt(all[6], 10, 64); err != nil {
				return nil, err
			}
		}
		client, rest, _ := strings.Cut(all[7], " ")
		pid, host, _ := strings.Cut(rest, " ")
		info.Owner = Owner{Client: client, Host: host}
		info.Owner.PID, _ = strconv.Atoi(pid)
		if all[8] != "" {
			info.Progress = json.RawMessage(all[8])
		}
		if h, value, bad := unseal(all[9]); bad == nil {
			info.AddedAt, info.Header, info.Body = time.UnixMilli(h.Added), h.Values, []byte(value)
		} else {
			info.Body = []byte(all[9])
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
	length, own, _ := strings.Cut(fields[2], ":")
	n, _ := strconv.Atoi(length)
	attempts, _, _ := strings.Cut(own, ":")
	i.MaxAttempts, _ = strconv.Atoi(attempts)
	n = min(max(n, 0), len(fields[3]))
	i.Unique, i.Group = fields[3][:n], fields[3][n:]
}

// Remove removes a message that was never delivered. It is certain: after nil no consumer
// has had it, and none will. It returns [ErrTaken] if a consumer holds it, or has held it, and
// [ErrNotFound] if no message has that id, or no longer; nothing was changed then. See
// [Queue.Cancel] and [Queue.Purge].
//
// Cost: one script call. Errors: also ctx's error and cause; [ErrInvalidArgument]; [ErrOutcomeUnknown] if the
// reply was lost again and again, or ctx ended before it: the message may be removed, or be
// yet; [ErrClosed]; those of Redis.
func (q *Queue[T]) Remove(ctx context.Context, id int64) error {
	return q.failed("remove message "+decimal(id)+" of", q.remove(ctx, id, onlyUnseen))
}

// Cancel removes a message, whatever its state. The client that holds it is notified. The contexts
// of the message end with [ErrCancelled], at once if the notification arrives, and otherwise at the
// next renewal of the lease. Its ack returns [ErrCancelled], or [ErrLost] long after. Cancel
// returns [ErrNotFound] if no message has that id, or no longer. Cost and other errors: as
// [Queue.Remove].
func (q *Queue[T]) Cancel(ctx context.Context, id int64) error {
	return q.failed("cancel message "+decimal(id)+" of", q.remove(ctx, id, anyState))
}

// What remove.lua may remove.
const (
	onlyUnseen = "0" // no consumer has or has had it
	anyState   = "1"
	notDead    = "2"
)

func (q *Queue[T]) remove(ctx context.Context, id int64, which string) error {
	code, err := requested(ctx, q, removeScript, oneText, q.of.removing(q.h.e, which, id))
	switch {
	case err != nil:
		return err
	case code == "1", code == "2" && which == anyState:
		return nil
	case code == "2":
		return ErrTaken
	case len(code) == 1:
		return ErrNotFound
	}
	return errAnswer
}

// removing returns the arguments of remove.lua after the first.
func (of *names) removing(e *locking.Engine, which string, ids ...int64) []string {
	return append([]string{which, of.cancelled, e.Publish(), of.done}, decimals(ids)...)
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

// RedriveAll has all messages that are dead now tried again, as [Queue.Redrive] does, without
// listing them, and returns how many.
//
// Cost: one script call for 1,000. Errors: as [Queue.Redrive].
func (q *Queue[T]) RedriveAll(ctx context.Context) (n int64, err error) {
	until, over := "", int64(0)
	for more := true; more && err == nil; {
		var text string
		text, err = requested(ctx, q, redriveScript, oneText, []string{q.of.wake, q.h.e.Publish(), counts(q.h.e), "all", until, decimal(over)})
		if err == nil {
			var some, looked int64
			if _, err = fmt.Sscan(text, &some, &looked, &until); err != nil {
				err = fmt.Errorf("%w: %w", errAnswer, err)
			}
			n, over, more = n+some, over+looked-some, looked == mostAdded
		}
	}
	return n, q.failed("redrive messages of", err)
}

// Reschedule moves a waiting message, ready or not, to another time: [WithDelay] or
// [WithAt]. A message that is the first of its group stays that, and the others wait with it. Cost: one script call, which
// looks through the messages that are ready without a priority, and through the leases, unless it is delayed.
// Errors: [ErrTaken] if a consumer holds the message; [ErrBuried]; [ErrNotFound]; otherwise as [Queue.Remove].
func (q *Queue[T]) Reschedule(ctx context.Context, id int64, when TimeOption) error {
	var p putting
	err := error(nil)
	if when == nil {
		err = fmt.Errorf("%w: no time", ErrInvalidArgument)
	} else {
		err = when.applyTime(&p)
	}
	if err == nil {
		err = q.change(ctx, id, "", p.delay, p.at)
	}
	return q.failed("reschedule message "+decimal(id)+" of", err)
}

// RunNow ends the delay of a message: it is ready, after those that are. It does nothing to one that is
// ready, or waits for another of its group. Otherwise it is as [Queue.Reschedule].
func (q *Queue[T]) RunNow(ctx context.Context, id int64) error {
	return q.failed("run message "+decimal(id)+" of", q.change(ctx, id, "", 0, 0))
}

// SetPriority gives a message another priority; see [WithPriority]. A ready message moves to the
// place of that priority, with 0 to the end. For a message that is held or delayed it counts from when it is ready.
// Cost: one script call, which looks through those that are ready without a priority. Errors: as
// [Queue.Reschedule], without [ErrTaken].
func (q *Queue[T]) SetPriority(ctx context.Context, id int64, priority int) error {
	var p putting
	err := WithPriority(priority).applyAdd(&p)
	if err == nil {
		err = q.change(ctx, id, decimal(priority), 0, 0)
	}
	return q.failed("set the priority of message "+decimal(id)+" of", err)
}

func (q *Queue[T]) change(ctx context.Context, id int64, priority string, delay, at int64) error {
	n, err := q.request(ctx, changeScript, decimal(id), priority, decimal(delay), decimal(at), q.of.wake, q.h.e.Publish(), counts(q.h.e))
	switch {
	case err != nil:
		return err
	case n == 0:
		return ErrNotFound
	case n == 2:
		return ErrTaken
	case n == 3:
		return ErrBuried
	}
	return nil
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

// Pause stops all takes from the queue, by any process, for a time of d, or until
// Resume if d is 0. Messages are still added, and messages that were taken are settled. Prefetched
// messages ([WithPrefetch]) do not begin later than a second after Pause has returned; they are
// put back when a handler is free. Cost: one script call. Errors: as [Queue.Remove], without those of its own.
func (q *Queue[T]) Pause(ctx context.Context, d time.Duration) error {
	var err error
	if d != 0 {
		err = send.CheckTTL("pause", d)
	}
	if err == nil {
		_, err = q.request(ctx, pauseScript, decimal(core.Millis(d)), q.of.wake, q.h.e.Publish(), counts(q.h.e))
	}
	return q.failed("pause", err)
}

// Resume ends a pause. Otherwise it is as [Queue.Pause].
func (q *Queue[T]) Resume(ctx context.Context) error {
	_, err := q.request(ctx, pauseScript, "-1", q.of.wake, q.h.e.Publish(), counts(q.h.e))
	return q.failed("resume", err)
}

// Delete deletes the queue, with all messages and counters. Its last id stays, so
// that no number is given twice, and dedup keys stay for their time. Consumers lose the messages
// that they hold. It reports whether the queue existed. Cost: one script call, sent once.
// Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrOutcomeUnknown]; [ErrClosed]; those of Redis.
func (q *Queue[T]) Delete(ctx context.Context) (there bool, err error) {
	if err = q.usable(ctx); err == nil {
		there, err = send.Writing(q.h.e.Sender, ctx, func() (bool, error) {
			return send.Yes(q.h.e.Run(ctx, deleteScript, q.of.parts, []string{q.of.wake, q.h.e.Publish(), counts(q.h.e), q.of.done}))
		})
	}
	return there, q.failed("delete", err)
}

// look runs one script that changes nothing.
func look[T, A any](ctx context.Context, q *Queue[T], op send.Operation, parse func([]string) (A, error), args ...string) (a A, err error) {
	if err = q.usable(ctx); err != nil {
		return a, err
	}
	return send.Reading(q.h.e.Sender, ctx, func() (A, error) {
		got, err := q.h.e.Run(ctx, op, q.of.parts, args)
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

// oneText returns an answer that is a text.
func oneText(got send.Answer, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return got.ToString()
}

// texts returns an answer of texts and numbers.
func texts(got send.Answer) ([]string, error) {
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

// request runs one script whose answer, a number, the server remembers until it has come.
func (q *Queue[T]) request(ctx context.Context, s *scripts.Script, args ...string) (int64, error) {
	return requested(ctx, q, s, send.Number, args)
}

func requested[T, A any](ctx context.Context, q *Queue[T], s *scripts.Script, read func(send.Answer, error) (A, error), args []string) (a A, err error) {
	if err := q.usable(ctx); err != nil {
		return a, err
	}
	return send.Writing(q.h.e.Sender, ctx, func() (A, error) {
		latch := keys.QueueDone(q.of.key, q.h.requests.ID())
		got, err := q.h.e.Run(ctx, send.Identified{Script: s}, q.of.on(latch), append([]string{send.MemoryMillis}, args...))
		if err == nil && !got.Replayed { // else an earlier send may still arrive
			q.h.requests.Forget(q.of.key, latch)
		}
		return read(got, err)
	})
}

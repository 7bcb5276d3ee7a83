package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/server"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

// jobReport is what became of a job.
type jobReport struct {
	ID      int64  `json:"id"`
	Attempt int    `json:"attempt"`
	Outcome string `json:"outcome"`
	Exit    int    `json:"exit"`
	TookMS  int64  `json:"took_ms"`
	Error   string `json:"error,omitempty"`
}

// Outcomes of a job.
const (
	jobDone     = "done"
	jobRetried  = "retried"
	jobDead     = "dead"
	jobReleased = "released"
	jobLost     = "lost"
	jobUnknown  = "unknown"
)

// do runs CMD for a job, and settles it.
func (w *worker) do(ctx context.Context, m *reliable.Message[jobBody]) error {
	began := time.Now()
	r := jobReport{ID: m.ID, Attempt: m.Attempt, Exit: -1}
	c, words, err := w.start(m)
	if c == nil {
		w.settled(&r, m.Release(ctx), jobReleased)
		if err != nil {
			r.Error = err.Error()
			err = &exit.Error{Code: run.NotRunnable(err), Err: err}
		}
	} else {
		w.watch(m.Context(ctx), c)
		r.Exit = c.Code()
		w.settle(ctx, m, &r, words)
		err = ctx.Err()
	}
	r.TookMS = time.Since(began).Milliseconds()
	w.tellJob(&r)
	return err
}

// start starts CMD. Without a child and an error none is to begin any more.
func (w *worker) start(m *reliable.Message[jobBody]) (*run.Child, *lastWords, error) {
	words, theirs, err := listenTo(w.Stderr)
	if err != nil {
		return nil, nil, err
	}
	defer theirs.Close() // CMD has its own
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopping {
		return nil, nil, nil
	}
	c, err := run.Start(&exec.Cmd{
		Path: w.path, Args: w.argv, Env: w.childEnv(m),
		Stdin: strings.NewReader(m.Value.input()), Stdout: w.Stdout.To, Stderr: theirs,
		WaitDelay: lingering,
	}, run.OwnGroups)
	if err != nil {
		return nil, nil, err
	}
	w.running[c] = true
	return c, words, nil
}

// childEnv returns the environment of CMD. A lock that the worker runs under is CMD's, too.
func (w *worker) childEnv(m *reliable.Message[jobBody]) []string {
	return append(slices.Clip(w.cmdEnv), envJob+"="+strconv.FormatInt(m.ID, 10), envAttempt+"="+strconv.Itoa(m.Attempt),
		envDelivery+"="+strconv.FormatInt(m.Delivery, 10))
}

// watch waits for CMD, and ends it if the job ends first.
func (w *worker) watch(job context.Context, c *run.Child) {
	select {
	case <-c.Done:
	case <-job.Done():
		c.End(w.grace)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, c)
}

// settle says what became of CMD.
func (w *worker) settle(ctx context.Context, m *reliable.Message[jobBody], r *jobReport, words *lastWords) {
	w.mu.Lock()
	ended := w.cut
	w.mu.Unlock()
	switch {
	case errors.Is(m.Err(), reliable.ErrTimeout): // the library has had the attempt fail
		r.Outcome, r.Error = jobRetried, m.Err().Error()
		w.tried(m, r)
	case m.Err() != nil:
		w.settled(r, m.Err(), "")
	case r.Exit == 0:
		w.settled(r, m.Ack(ctx), jobDone)
	case ended || ctx.Err() != nil:
		w.settled(r, m.Release(ctx), jobReleased)
	default:
		cause := fmt.Sprintf("exit %d", r.Exit)
		if line := words.last(); line != "" {
			cause += ": " + line
		}
		r.Error = cause
		err := m.Nack(ctx, errors.New(cause))
		w.settled(r, err, jobRetried)
		if err == nil {
			w.tried(m, r)
		}
	}
}

// tried says of a job whose attempt has failed whether it is dead now.
func (w *worker) tried(m *reliable.Message[jobBody], r *jobReport) {
	ctx, cancel := context.WithTimeout(context.Background(), server.Answering)
	defer cancel()
	if buried, err := m.Buried(ctx); err == nil && buried {
		r.Outcome = jobDead
		w.mu.Lock()
		w.failed++
		w.mu.Unlock()
	}
}

// settled notes what the queue answered.
func (w *worker) settled(r *jobReport, err error, outcome string) {
	r.Outcome = outcome
	switch {
	case err == nil:
		return
	case errors.Is(err, reliable.ErrTimeout): // just now
		r.Outcome = jobRetried
	case errors.Is(err, reliable.ErrLost):
		r.Outcome = jobLost
		w.mu.Lock()
		w.lost = true
		w.mu.Unlock()
	default:
		r.Outcome = jobUnknown
	}
	r.Error = err.Error()
}

// doubling returns a backoff that is first after the first attempt, and twice that after each further one.
func doubling(first time.Duration) func(attempt int) time.Duration {
	return func(attempt int) time.Duration {
		d := first
		for ; attempt > 1 && d < longestBackoff; attempt-- {
			d *= 2
		}
		return min(d, longestBackoff)
	}
}

func (w *worker) tellJob(r *jobReport) {
	switch {
	case w.JSON:
		w.SayJSON(w.Stderr, r)
	case r.Outcome != jobDone && r.Error != "":
		w.Say("job %d, attempt %d: %s: %s", r.ID, r.Attempt, r.Outcome, r.Error)
	case r.Outcome != jobDone:
		w.Say("job %d, attempt %d: %s", r.ID, r.Attempt, r.Outcome)
	}
}

const (
	// lingering is how long processes that outlive CMD may still read the body.
	lingering = time.Second
	// reading is how long the standard error of CMD may still be read after the end of CMD.
	reading = 100 * time.Millisecond
	// remembered is how many bytes of the end of CMD's standard error are kept.
	remembered = 4 << 10
)

// lastWords is the end of what a CMD says on standard error.
type lastWords struct {
	mu   sync.Mutex
	tail []byte
	over chan struct{} // closed when nobody can say more
}

// listenTo makes an end for CMD to write to. What it says goes to out as well, for as
// long as it, or what it has left in the background, has that end.
func listenTo(out io.Writer) (l *lastWords, theirs *os.File, err error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	l = &lastWords{over: make(chan struct{})}
	go func() { // ends when the last of their ends is closed
		defer close(l.over)
		defer ours.Close()
		_, _ = io.Copy(io.MultiWriter(l, out), ours)
		_, _ = io.Copy(io.Discard, ours) // where out is closed CMD goes on
	}()
	return l, theirs, nil
}

func (l *lastWords) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = append(l.tail, p...)
	l.tail = append(l.tail[:0], l.tail[max(len(l.tail)-remembered, 0):]...)
	return len(p), nil
}

// last returns the last line that is not blank.
func (l *lastWords) last() string {
	select {
	case <-l.over:
	case <-time.After(reading):
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	said := bytes.TrimSpace(l.tail)
	return string(bytes.TrimSpace(said[bytes.LastIndexByte(said, '\n')+1:]))
}

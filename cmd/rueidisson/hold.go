package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/lock"
)

// Environment variables that tell a CMD about its hold.
const (
	envLock   = "RUEIDISSON_LOCK"
	envToken  = "RUEIDISSON_TOKEN"
	envFence  = "RUEIDISSON_FENCE"
	envPermit = "RUEIDISSON_PERMIT"
)

// result is what became of a CMD and its hold.
type result struct {
	Name     string `json:"name"`
	Outcome  string `json:"outcome"`
	Exit     int    `json:"exit"`
	WaitedMS int64  `json:"waited_ms"`
	HeldMS   int64  `json:"held_ms"`
	Error    string `json:"error,omitempty"`

	err  error
	over time.Time // when CMD had ended, or could not be run under the lock
}

const (
	outcomeDone        = "done"
	outcomeNotAcquired = "not_acquired"
	outcomeLost        = "lost"
	outcomeInterrupted = "interrupted"
	outcomeFailed      = "failed"
)

// holding is what CMD runs under: the hold of a lock, a term, or a permit.
type holding interface {
	Context(parent context.Context) context.Context
	Fence() (fence.Token, bool)
	// Env returns the variables that tell CMD about the hold, in addition to that of the fencing token.
	Env(ctx context.Context) ([]string, error)
	Unlock(ctx context.Context) error
}

// run runs CMD under a hold. CMD is looked for first: nobody should wait for an hour to
// learn that its name was misspelt.
func (r *command) run(ctx context.Context) error {
	path, err := exec.LookPath(r.argv[0])
	if err != nil {
		return r.ended(result{Outcome: outcomeFailed, Exit: notRunnable(err), err: err})
	}
	if r.embedded {
		server, err := embedded.Start()
		if err != nil {
			return failed(err)
		}
		defer server.Close()
		r.reachEmbedded(server.URL())
	}
	client, err := r.connect(rueidisson.WithWatchdogTimeout(r.watchdog))
	if err != nil {
		return r.ended(failure(err))
	}
	// Signals are the tool's business from here on. Before, there is nothing to
	// clean up, and they may end the process as they like.
	waiting, interrupt := context.WithCancelCause(ctx)
	defer interrupt(nil)
	relay := startRelay(func(sig os.Signal) { interruptBy(interrupt, sig) })
	defer relay.stop()
	res := r.lockAndRun(ctx, waiting, client, relay, path)
	leaving, cancel := res.leaving()
	defer cancel()
	if err := within(leaving, func() error { return client.Close(leaving) }); err != nil && res.err == nil {
		res.err = err
	}
	return r.ended(res)
}

// notRunnable returns the exit code for a CMD that cannot be started.
func notRunnable(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return exitNotFound
	}
	return exitNotExecutable
}

// failure returns the result for an error of the library.
func failure(err error) result {
	var end *ending
	if !errors.As(err, &end) {
		errors.As(failed(err), &end)
	}
	outcome := outcomeFailed
	switch end.code {
	case exitNotAcquired:
		outcome = outcomeNotAcquired
	case exitLost:
		outcome = outcomeLost
	}
	return result{Outcome: outcome, Exit: end.code, err: end.err}
}

// ended returns the end of the program for a result.
func (r *command) ended(res result) error {
	res.Name = r.name
	if res.Outcome == outcomeNotAcquired {
		res.Exit = r.conflict
	}
	if res.Exit == exitUnavailable {
		res.err = r.naming(res.err)
	}
	if res.err != nil {
		res.Error = res.err.Error()
	}
	if res.Exit != 0 {
		return &ending{code: res.Exit, err: res.err, report: res}
	}
	switch {
	case r.json:
		r.sayJSON(r.stderr, res)
	case res.err != nil:
		r.say("%v", res.err)
	}
	return nil
}

// lockAndRun ends a wait with waiting, and a command with ctx.
func (r *command) lockAndRun(ctx, waiting context.Context, client *rueidisson.Client, relay *relay, path string) (res result) {
	began := time.Now()
	hold, err := r.take(waiting, client)
	acquired := time.Now()
	defer func() { res.WaitedMS = acquired.Sub(began).Milliseconds() }()
	if err != nil && waiting.Err() == nil && r.wait > 0 && failure(err).Outcome == outcomeNotAcquired {
		err = notInTime(err, r.asks(r.name)) // the last refusal may be from before an outage
	}
	if err != nil {
		return whyNot(waiting, err)
	}
	res = r.runUnder(ctx, waiting, hold, relay, path)
	res.HeldMS = time.Since(acquired).Milliseconds()
	return res
}

// whyNot returns the result of a wait that ended without the lock.
func whyNot(waiting context.Context, err error) result {
	if sig, ok := interruptedBy(waiting); ok {
		return result{Outcome: outcomeInterrupted, Exit: signalCode(sig), err: context.Cause(waiting)}
	}
	return failure(err)
}

// runUnder runs CMD and gives the lock back.
func (r *command) runUnder(ctx, waiting context.Context, hold holding, relay *relay, path string) result {
	res := r.startAndWatch(ctx, waiting, hold, relay, path)
	res.over = time.Now()
	leaving, cancel := res.leaving()
	defer cancel()
	err := within(leaving, func() error { return hold.Unlock(ctx) })
	switch {
	case res.Outcome == outcomeLost || err == nil:
	case errors.Is(err, lock.ErrLost):
		res.Outcome, res.Exit, res.err = outcomeLost, exitLost, err
	default: // the work is done, and the lock is left to its lease
		res.err = errors.Join(res.err, err)
	}
	return res
}

func (r *command) startAndWatch(ctx, waiting context.Context, hold holding, relay *relay, path string) (res result) {
	env, err := r.childEnv(ctx, hold)
	if err != nil {
		return failure(err)
	}
	var c *child
	relay.to(func() func(os.Signal) {
		if err = waiting.Err(); err != nil {
			res = whyNot(waiting, err) // a signal came together with the lock
			return nil
		}
		if c, err = startChild(r.process(path, env), !hasTerminal()); err != nil {
			res = result{Outcome: outcomeFailed, Exit: notRunnable(err), err: err}
			return nil
		}
		return c.pass
	})
	if err != nil {
		return res
	}
	return r.watch(hold.Context(ctx), c)
}

func (r *command) process(path string, env []string) *exec.Cmd {
	return &exec.Cmd{
		Path: path, Args: r.argv, Env: env,
		Stdin: r.stdin, Stdout: r.stdout.to, Stderr: r.stderr,
	}
}

// childEnv returns the environment of CMD. Tokens that the tool itself was given
// are another hold's.
func (r *command) childEnv(ctx context.Context, hold holding) ([]string, error) {
	env, err := r.envOfCMD(r.env, r.exportPassword, envLock, envToken, envFence, envPermit)
	if err != nil {
		return nil, err
	}
	about, err := hold.Env(ctx)
	if err != nil {
		return nil, err
	}
	env = append(env, about...)
	if token, fenced := hold.Fence(); fenced {
		env = append(env, envFence+"="+strconv.FormatInt(token.Number(), 10))
	}
	return env, nil
}

// watch waits for CMD, and ends it if the hold ends first.
func (r *command) watch(work context.Context, c *child) result {
	select {
	case <-c.done:
		return result{Outcome: outcomeDone, Exit: c.code()}
	case <-work.Done():
	}
	cause := context.Cause(work)
	if !errors.Is(cause, lock.ErrLost) {
		c.end(r.grace)
		return result{Outcome: outcomeInterrupted, Exit: c.code(), err: cause}
	}
	if !r.json {
		r.say("%s %q: %v: ending %s", r.noun, r.name, cause, r.argv[0])
	}
	c.end(r.grace)
	return result{Outcome: outcomeLost, Exit: exitLost, err: fmt.Errorf("%s %q: %w", r.noun, r.name, cause)}
}

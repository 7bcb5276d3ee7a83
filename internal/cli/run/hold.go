package run

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
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/server"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/lock"
)

// Environment variables that tell a CMD about its hold.
const (
	EnvLock   = "RUEIDISSON_LOCK"
	EnvToken  = "RUEIDISSON_TOKEN"
	envFence  = "RUEIDISSON_FENCE"
	EnvPermit = "RUEIDISSON_PERMIT"
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

// Holding is what CMD runs under: the hold of a lock, a term, or a permit.
type Holding interface {
	Context(parent context.Context) context.Context
	Fence() (fence.Token, bool)
	// Env returns the variables that tell CMD about the hold, in addition to that of the fencing token.
	Env(ctx context.Context) ([]string, error)
	Unlock(ctx context.Context) error
}

// run runs CMD under a hold. CMD is looked for first: nobody should wait for an hour to
// learn that its name was misspelt.
func (r *Command) run(ctx context.Context) error {
	path, err := exec.LookPath(r.argv[0])
	if err != nil {
		return r.ended(result{Outcome: outcomeFailed, Exit: NotRunnable(err), err: err})
	}
	if r.Embedded {
		server, err := embedded.Start()
		if err != nil {
			return exit.Failed(err)
		}
		defer server.Close()
		r.ReachEmbedded(server.URL())
	}
	client, err := r.Connect(rueidisson.WithWatchdogTimeout(r.Watchdog))
	if err != nil {
		return r.ended(failure(err))
	}
	// Signals are the tool's business from here on. Before, there is nothing to
	// clean up, and they may end the process as they like.
	waiting, interrupt := context.WithCancelCause(ctx)
	defer interrupt(nil)
	relay := Catch(func(sig os.Signal) { interruptBy(interrupt, sig) })
	defer relay.Stop()
	res := r.lockAndRun(ctx, waiting, client, relay, path)
	leaving, cancel := res.leaving()
	defer cancel()
	if err := within(leaving, func() error { return client.Close(leaving) }); err != nil && res.err == nil {
		res.err = err
	}
	return r.ended(res)
}

// NotRunnable returns the exit code for a CMD that cannot be started.
func NotRunnable(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return exit.NotFound
	}
	return exit.NotExecutable
}

// failure returns the result for an error of the library.
func failure(err error) result {
	var end *exit.Error
	if !errors.As(err, &end) {
		errors.As(exit.Failed(err), &end)
	}
	outcome := outcomeFailed
	switch end.Code {
	case exit.NotAcquired:
		outcome = outcomeNotAcquired
	case exit.Lost:
		outcome = outcomeLost
	}
	return result{Outcome: outcome, Exit: end.Code, err: end.Err}
}

// ended returns the end of the program for a result.
func (r *Command) ended(res result) error {
	res.Name = r.Name
	if res.Outcome == outcomeNotAcquired {
		res.Exit = r.conflict
	}
	if res.Exit == exit.Unavailable {
		res.err = r.Naming(res.err)
	}
	if res.err != nil {
		res.Error = res.err.Error()
	}
	if res.Exit != 0 {
		return &exit.Error{Code: res.Exit, Err: res.err, Report: res}
	}
	switch {
	case r.JSON:
		r.SayJSON(r.Stderr, res)
	case res.err != nil:
		r.Say("%v", res.err)
	}
	return nil
}

// lockAndRun ends a wait with waiting, and a command with ctx.
func (r *Command) lockAndRun(ctx, waiting context.Context, client *rueidisson.Client, relay *relay, path string) (res result) {
	began := time.Now()
	hold, err := r.Take(waiting, client)
	acquired := time.Now()
	defer func() { res.WaitedMS = acquired.Sub(began).Milliseconds() }()
	if err != nil && waiting.Err() == nil && r.Wait > 0 && failure(err).Outcome == outcomeNotAcquired {
		err = server.NotInTime(err, r.Asks(r.Name)) // the last refusal may be from before an outage
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
func (r *Command) runUnder(ctx, waiting context.Context, hold Holding, relay *relay, path string) result {
	res := r.startAndWatch(ctx, waiting, hold, relay, path)
	res.over = time.Now()
	leaving, cancel := res.leaving()
	defer cancel()
	err := within(leaving, func() error { return hold.Unlock(ctx) })
	switch {
	case res.Outcome == outcomeLost || err == nil:
	case errors.Is(err, lock.ErrLost):
		res.Outcome, res.Exit, res.err = outcomeLost, exit.Lost, err
	default: // the work is done, and the lock is left to its lease
		res.err = errors.Join(res.err, err)
	}
	return res
}

func (r *Command) startAndWatch(ctx, waiting context.Context, hold Holding, relay *relay, path string) (res result) {
	env, err := r.childEnv(ctx, hold)
	if err != nil {
		return failure(err)
	}
	var c *Child
	relay.to(func() func(os.Signal) {
		if err = waiting.Err(); err != nil {
			res = whyNot(waiting, err) // a signal came together with the lock
			return nil
		}
		if c, err = Start(r.process(path, env), !hasTerminal()); err != nil {
			res = result{Outcome: outcomeFailed, Exit: NotRunnable(err), err: err}
			return nil
		}
		return c.pass
	})
	if err != nil {
		return res
	}
	return r.watch(hold.Context(ctx), c)
}

func (r *Command) process(path string, env []string) *exec.Cmd {
	return &exec.Cmd{
		Path: path, Args: r.argv, Env: env,
		Stdin: r.Stdin, Stdout: r.Stdout.To, Stderr: r.Stderr,
	}
}

// childEnv returns the environment of CMD. Tokens that the tool itself was given
// are another hold's.
func (r *Command) childEnv(ctx context.Context, hold Holding) ([]string, error) {
	env, err := r.EnvOfCMD(r.Env, r.exportPassword, EnvLock, EnvToken, envFence, EnvPermit)
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
func (r *Command) watch(work context.Context, c *Child) result {
	select {
	case <-c.Done:
		return result{Outcome: outcomeDone, Exit: c.Code()}
	case <-work.Done():
	}
	cause := context.Cause(work)
	if !errors.Is(cause, lock.ErrLost) {
		c.End(r.Grace)
		return result{Outcome: outcomeInterrupted, Exit: c.Code(), err: cause}
	}
	if !r.JSON {
		r.Say("%s %q: %v: ending %s", r.Noun, r.Name, cause, r.argv[0])
	}
	c.End(r.Grace)
	return result{Outcome: outcomeLost, Exit: exit.Lost, err: fmt.Errorf("%s %q: %w", r.Noun, r.Name, cause)}
}

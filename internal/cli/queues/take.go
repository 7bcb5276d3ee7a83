package queues

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/server"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/internal/cli/values"
	"github.com/rueidisson/rueidisson/queue"
)

const queueTakeLong = `take takes the head, or with --last the tail, and shows it. With --wait D it waits
until there is one, for D at most.

An element is taken only if it is shown: one that does not decode, or that standard
output does not take, goes back to where it was, that of a bounded queue to its tail.
If a signal ends the wait, nothing was taken. A machine that dies takes along what it
has.

With --json: {"name", "value"}, or {"name", "found":false}.

Exit codes:
  1    the queue is empty, and there was no --wait
  75   it was, for as long as --wait says
  see "rueidisson queue --help" for codecs and the others`

func (c *queueCall) takeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "take NAME",
		Short: "Take an element",
		Long:  queueTakeLong,
		Example: `  rueidisson queue take orders
  rueidisson queue take orders --wait 1m --codec json`,
		Args: usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case c.wait < 0:
				return exit.Usagef("--wait %v is negative", c.wait)
			case c.last && c.delayed:
				return exit.Usagef("--last is for plain queues")
			}
			return c.with(args[0], func(client *rueidisson.Client) error {
				run.OutlivePipes()
				return run.UnlessInterrupted(cmd.Context(), func(ctx context.Context) error { return c.take(ctx, client, args[0]) })
			})
		},
	}
	cmd.Flags().BoolVar(&c.last, "last", false, "take the tail")
	cmd.Flags().DurationVar(&c.wait, "wait", 0, "wait for an element, for `D` at most (default: do not wait)")
	return cmd
}

var errNotInTime = errors.New("nothing came in time")

func (c *queueCall) take(ctx context.Context, client *rueidisson.Client, name string) error {
	if err := c.checkKind(ctx, name); err != nil {
		return err
	}
	now, awaited := c.takers(client, name)
	text, err := "", error(nil)
	if c.wait == 0 {
		text, err = now(ctx)
	} else {
		bounded, cancel := context.WithTimeoutCause(ctx, c.wait, errNotInTime)
		defer cancel()
		if text, err = awaited(bounded); errors.Is(err, errNotInTime) && !errors.Is(err, rueidisson.ErrUnreached) {
			return server.NotInTime(err, func(ctx context.Context) error {
				_, err := c.shelf(client, name).Len(ctx)
				return err
			})
		}
	}
	if err != nil {
		return err
	}
	if err = c.show(name, text); err != nil {
		return errors.Join(err, c.putBack(client, name, text))
	}
	return nil
}

// takers returns how an element is taken that is there, and one that comes.
func (c *queueCall) takers(client *rueidisson.Client, name string) (now, awaited func(context.Context) (string, error)) {
	switch {
	case c.delayed:
		q := c.delayedQueue(client, name)
		return q.Poll, q.Take
	case c.last:
		q := queue.New[string](client, name, rawElements())
		return q.PollLast, q.TakeLast
	}
	of := c.shelf(client, name)
	return of.Poll, of.Take
}

// backIn bounds what puts an element back, whatever has ended meanwhile.
const backIn = 10 * time.Second

// putBack puts elements back that nobody has seen.
func (c *queueCall) putBack(client *rueidisson.Client, name string, texts ...string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), backIn)
	defer cancel()
	if c.bounded || c.last {
		_, err = c.shelf(client, name).Offer(ctx, texts...)
	} else {
		for i := len(texts) - 1; i >= 0 && err == nil; i-- {
			_, err = queue.New[string](client, name, rawElements()).OfferFirst(ctx, texts[i])
		}
	}
	if err != nil {
		err = fmt.Errorf("putting back: %w", err)
	}
	return err
}

// shownElement is an element in JSON: by itself with its name, and in a list when it
// is due, if it waits.
type shownElement struct {
	Name   string `json:"name,omitempty"`
	Value  any    `json:"value"`
	Base64 bool   `json:"base64,omitempty"`
	DueMS  *int64 `json:"due_ms,omitempty"`
}

// show shows an element of the queue.
func (c *queueCall) show(name, text string) error {
	v, err := c.element(name, text)
	if err != nil {
		return err
	}
	return c.print(shownElement{Name: name, Value: v.JSON(), Base64: v.Base64}, c.Alone(v.Text))
}

// item shows one of several elements.
func (c *queueCall) item(name, text string) error {
	v, err := c.element(name, text)
	if err != nil {
		return err
	}
	return c.print(shownElement{Value: v.JSON(), Base64: v.Base64}, c.Alone(v.Text))
}

// row shows one of several elements that stay where they are.
func (c *queueCall) row(name, text string) error {
	v, err := c.element(name, text)
	if err != nil {
		return err
	}
	return c.print(shownElement{Value: v.JSON(), Base64: v.Base64}, v.Line())
}

func (c *queueCall) element(name, text string) (values.Value, error) {
	v, err := values.Decode(c.elements, text)
	if err != nil {
		return v, &codec.DecodeError{Name: name, Bytes: []byte(text), Cause: err}
	}
	return v, nil
}

// print writes a line, and says whether that was taken: what is shown is off the
// queue.
func (c *queueCall) print(object shownElement, text string) error {
	line := bytes.NewBufferString(text + "\n")
	if c.JSON {
		line.Reset()
		c.SayJSON(line, object)
	}
	_, err := c.Stdout.Write(line.Bytes())
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

const queuePeekLong = `peek shows the head, or with --last the tail, and leaves it there. With --wait D it
looks every 50 ms until there is one, for D at most.

With --json: {"name", "value"}, or {"name", "found":false}.

Exit codes:
  1    the queue is empty, and there was no --wait
  75   it was, for as long as --wait says
  see "rueidisson queue --help" for codecs and the others`

func (c *queueCall) peekCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "peek NAME",
		Short:   "Show an element, and leave it there",
		Long:    queuePeekLong,
		Example: "  rueidisson queue peek orders --json",
		Args:    usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.wait < 0 {
				return exit.Usagef("--wait %v is negative", c.wait)
			}
			return c.with(args[0], func(client *rueidisson.Client) error {
				return run.UnlessInterrupted(cmd.Context(), func(ctx context.Context) error { return c.peek(ctx, client, args[0]) })
			})
		},
	}
	cmd.Flags().BoolVar(&c.last, "last", false, "show the tail")
	cmd.Flags().DurationVar(&c.wait, "wait", 0, "wait for an element, for `D` at most (default: do not wait)")
	return cmd
}

// peekEvery is how often it is looked for an element that may come.
const peekEvery = 50 * time.Millisecond

func (c *queueCall) peek(ctx context.Context, client *rueidisson.Client, name string) error {
	until := time.Now().Add(c.wait)
	text, err := c.look(ctx, client, name)
	for errors.Is(err, queue.ErrEmpty) && time.Now().Before(until) {
		select {
		case <-time.After(min(peekEvery, time.Until(until))):
		case <-ctx.Done():
		}
		text, err = c.look(ctx, client, name)
	}
	switch {
	case errors.Is(err, queue.ErrEmpty) && c.wait > 0:
		return &exit.Error{Code: exit.NotAcquired, Err: errNotInTime}
	case err != nil:
		return err
	}
	return c.show(name, text)
}

// look returns the element that peek shows.
func (c *queueCall) look(ctx context.Context, client *rueidisson.Client, name string) (string, error) {
	if err := c.moveDue(ctx, client, name); err != nil {
		return "", err
	}
	if c.last {
		return queue.New[string](client, name, rawElements()).PeekLast(ctx)
	}
	return c.shelf(client, name).Peek(ctx)
}

// moveDue has what is due come into the queue.
func (c *queueCall) moveDue(ctx context.Context, client *rueidisson.Client, name string) error {
	if !c.delayed {
		return nil
	}
	_, err := c.delayedQueue(client, name).Move(ctx)
	if errors.Is(err, queue.ErrDecode) { // it was set aside, and is none of what comes
		c.Say("%v", err)
		return nil
	}
	return err
}

package synchronizers

import (
	"context"
	"fmt"
	"slices"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/inspect"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
)

// Semaphores of both kinds and latches keep a number under their name. What tells them apart are other keys of the name,
// which this library writes.

// refuseOther returns an error if the other keys of NAME say that it is one of some kinds.
func refuseOther(ctx context.Context, t *tool.Tool, name string, others ...string) error {
	redis, err := t.Dial()
	if err != nil {
		return err
	}
	defer redis.Close()
	kind, err := (&inspect.Look{Tool: t, Redis: redis, Name: name, Brief: true}).Kind(ctx)
	if err != nil {
		return nil // the command says why
	}
	if slices.Contains(others, kind) {
		return exit.Failed(fmt.Errorf(`%q: %w: it is a %s; see "rueidisson inspect %s"`, name, rueidisson.ErrWrongKind, kind, name))
	}
	return nil
}

// absentUnless returns the ending for an object of a name that is not there, nil if one of its keys is.
func absentUnless(ctx context.Context, t *tool.Tool, name string, keys ...string) error {
	redis, err := t.Dial()
	if err != nil {
		return err
	}
	defer redis.Close()
	n, err := redis.Do(ctx, redis.B().Exists().Key(keys...).Build()).AsInt64()
	if err == nil && n == 0 {
		err = t.Absent(tool.Missing{Name: name}, nil)
	}
	return err
}

// tellUnset says on standard error that a wait for permits is one for somebody to set them, if none are set.
func tellUnset(ctx context.Context, t *tool.Tool, name, command string) {
	redis, err := t.Dial()
	if err != nil {
		return // the wait says why
	}
	defer redis.Close()
	n, err := redis.Do(ctx, redis.B().Exists().Key(name, inspect.Companion(name, "timeout")).Build()).AsInt64()
	if err != nil || n > 0 {
		return
	}
	t.Note(`no permits are set under %q yet: waiting for "rueidisson %s"`, name, command)
}

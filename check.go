package rueidisson

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
)

// A Checker is a handle on an object that can be checked before it is used: every handle of this module is one.
type Checker interface {
	// Check reports what would keep the object from working, without changing anything.
	Check(ctx context.Context) error
}

var (
	// ErrNotPermitted is wrapped by the error of a check for what the server's ACL does not permit to the user of the
	// client: a command, a key or a channel. The text names them. An operation that is refused by the ACL returns the
	// error of the server, which begins with NOPERM. It is also wrapped for a command that the server does not have,
	// such as one that rename-command takes away.
	ErrNotPermitted = core.ErrNotPermitted

	// ErrSettings is wrapped by the error of [Client.Check] for settings of the server that endanger what is held. See
	// [CheckError] for how to go on in spite of them.
	ErrSettings = core.ErrSettings
)

// CheckError is the error of [Client.Check]. A program that accepts the settings of its server looks at Objects alone:
//
//	var found *rueidisson.CheckError
//	if err := c.Check(ctx, objects...); errors.As(err, &found) && found.Objects == nil {
//		log.Print(err) // of the settings
//	} else if err != nil {
//		return err
//	}
type CheckError struct {
	Objects  error // joins the errors of the objects, in the order in which they were given; nil if there is none
	Settings error // wraps ErrSettings; nil if no setting that can be seen endangers anything
}

// Error returns what was found, a line for each.
func (e *CheckError) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap returns the errors that are not nil.
func (e *CheckError) Unwrap() (all []error) {
	for _, err := range []error{e.Objects, e.Settings} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// Check checks objects before they are used, such as when a program starts. It writes nothing.
//
// Each object reports a name or an option that cannot be used, a key of another type under one of its names, and what the
// ACL does not permit to the user of the client, and commands that the server does not have. Objects of several clients may
// be given.
//
// Check also reports the settings of this client's server that endanger what is held:
//
//   - a maxmemory-policy that evicts keys with a time to live;
//   - a master with replicas that goes on when it is cut off from them: min-replicas-to-write is 0, or
//     min-replicas-max-lag is not below the watchdog timeout. A client with [Renewals] does not need them, nor a cluster;
//   - fewer replicas than [WithReplicaAcks] or min-replicas-to-write wants, or a server that is a replica itself: nothing can
//     be written there. Of a cluster that is not seen.
//
// If the user may run neither INFO nor CONFIG GET, Check cannot see the settings and does not
// report them.
//
// A check is of one moment. It does not see what changes afterwards, whether memory and disk will
// be enough, whether a rate, a capacity or permits are set, or which codec other programs write
// with. It does not ask for commands of rueidis itself. On a cluster the ACL is that of the master
// of the object's name. A server that cannot say what a user may do, such as that of
// rueidissontest, is not asked.
//
// Cost: of each object what its Check costs, one script call as a rule, 32 at the same time; and one or two commands to
// each master.
//
// Errors: a [CheckError]; [ErrInvalidArgument], also for a nil object; [ErrWrongKind]; [ErrNotPermitted];
// [ErrSettings]; [ErrUnreached], with the address of a server that has not answered; [ErrClosed]; ctx's error and cause; Redis'
// and the network's.
func (c *Client) Check(ctx context.Context, objects ...Checker) error {
	if err := object.Usable(ctx, c.e, nil); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	found := &CheckError{}
	var settings sync.WaitGroup
	settings.Go(func() { found.Settings = c.e.CheckSettings(ctx) }) // at the same time: silent objects leave it none
	found.Objects = check.Parallel(len(objects), func(i int) error {
		if v := reflect.ValueOf(objects[i]); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return fmt.Errorf("check: %w: object %d of %d is nil", ErrInvalidArgument, i+1, len(objects))
		}
		return objects[i].Check(ctx)
	})
	settings.Wait()
	if len(found.Unwrap()) == 0 {
		return nil
	}
	return found
}

package enginetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// noWrites refuses what writes to a user.
const noWrites = "NOPERM"

// Refuses has each write refused, for each passing reason: then it has changed nothing, and says why. Reads go on, and so do
// writes when the server refuses no more.
func (o Object) Refuses(t *testing.T) {
	t.Parallel()
	refusals := map[string]func(s *redistest.Server, raw rueidis.Client) (accept func()){noWrites: denyWrites}
	for _, kind := range []redistest.Refusal{redistest.OutOfMemory, redistest.NoReplicas, redistest.ReadOnly, redistest.NotSaved} {
		refusals[kind.Name] = func(s *redistest.Server, _ rueidis.Client) func() { return s.Refuse(kind) }
	}
	for name, refuse := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.refused(t, name, refuse)
		})
	}
}

// jsonWrites are commands that write and are not in the category of those. A server without them does not know the rule.
var jsonWrites = []string{
	"json.set", "json.mset", "json.merge", "json.del", "json.clear", "json.toggle", "json.numincrby", "json.strappend",
	"json.arrappend", "json.arrinsert", "json.arrpop", "json.arrtrim",
}

func denyWrites(_ *redistest.Server, raw rueidis.Client) (accept func()) {
	set := func(sign string) {
		for _, rule := range append([]string{"@write"}, jsonWrites...) {
			_ = raw.Do(context.Background(), raw.B().Arbitrary("ACL", "SETUSER", "orders", sign+rule).Build()).Error()
		}
	}
	set("-")
	return func() { set("+") }
}

func (o Object) refused(t *testing.T, name string, refuse func(s *redistest.Server, raw rueidis.Client) func()) {
	server := redistest.StartUnsaving(t, o.On...)
	raw := server.Client(t)
	redistest.Do(t, raw, "ACL", "SETUSER", "orders", "on", ">password", "~*", "&*", "+@all")
	e := On(t, server.Client(t, func(c *rueidis.ClientOption) { c.Username, c.Password = "orders", "password" }))
	for what := range o.Writes {
		o.Old(t, raw, what)
	}
	accept := refuse(server, raw)
	for what, err := range o.writeAll(t, e) {
		left := o.State(t, raw, what)
		if err == nil {
			require.NotContains(t, o.Needs, what)
			require.Empty(t, o.accepted(name, what, left), what)
			continue
		}
		require.Regexp(t, name+"|can't run this command", err.Error(), what) // which is how 7.0 says it of scripts
		require.ErrorContains(t, err, what)
		require.NotErrorIs(t, err, core.ErrOutcomeUnknown, what)
		require.Equal(t, o.Before, left, what)
	}
	for what, read := range o.Reads {
		got, err := read.Do(t.Context(), e, o.Read)
		require.NoError(t, err, what)
		if read.Answer != nil && name != redistest.OutOfMemory.Name { // which may have accepted a write
			require.Equal(t, read.Answer, got, what)
		}
	}
	accept()
	again := o.Needs[0]
	redistest.Eventually(t, func() bool {
		_, err := o.Writes[again].Do(t.Context(), e, again)
		return err == nil
	}, redistest.Soon, time.Millisecond)
}

// accepted returns what is wrong about a write that a server has accepted which refuses others, "" if nothing is: it changes
// nothing, or has done what it does without memory.
func (o Object) accepted(refusal, what, left string) string {
	switch want := o.Writes[what].Left; {
	case want == o.Before && left != want:
		return "it has changed what it keeps: " + left
	case want == o.Before:
		return ""
	case refusal != redistest.OutOfMemory.Name:
		return "it was not refused, and left " + left
	case want != "" && left != want:
		return "it was not done: " + left
	}
	return ""
}

// writeAll has all writes at once, as each is sent again for a while.
func (o Object) writeAll(t *testing.T, e *locking.Engine) map[string]error {
	said := map[string]error{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for what, one := range o.Writes {
		all.Go(func() {
			_, err := one.Do(t.Context(), e, what)
			mu.Lock()
			defer mu.Unlock()
			said[what] = err
		})
	}
	all.Wait()
	return said
}

package scripts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"
)

// Transaction is commands that the server runs in one step: MULTI … EXEC, for what needs no script. They are reads and at
// most one write, since an error of one undoes nothing of the others. Its answer is the array of theirs.
//
// A server says OK to MULTI and QUEUED to each command, or why it refuses it. Then EXEC discards all of them, and the
// transaction has the error of that command. A user without the right to MULTI has the commands run one by one: see
// [ApartError].
type Transaction struct {
	label string
	steps []Step
	write int // the step that writes; none: there is none
}

// Step is one command of a transaction. It writes unless its replay is [Safe] and Reads says so.
type Step struct {
	*Command
	Call
	Reads bool
}

const none = -1

// NewTransaction returns a transaction that the observer knows by its label.
func NewTransaction(label string, steps ...Step) *Transaction {
	return &Transaction{label, steps, slices.IndexFunc(steps, func(s Step) bool { return !s.Reads })}
}

// Label names it to the observer.
func (t *Transaction) Label() string { return t.label }

// Repeatable says that a second run does no harm.
func (t *Transaction) Repeatable() bool {
	return !slices.ContainsFunc(t.steps, func(s Step) bool { return !s.Repeatable() })
}

// LosesNothing says that a lost reply costs no more than not knowing whether it ran.
func (t *Transaction) LosesNothing() bool {
	return !slices.ContainsFunc(t.steps, func(s Step) bool { return !s.Command.LosesNothing() })
}

// OnlyReads says that it has no step that writes.
func (t *Transaction) OnlyReads() bool { return t.write == none }

// Words returns the keys and the arguments of all steps.
func (t *Transaction) Words() (keys, args []string) {
	for _, s := range t.steps {
		keys, args = append(keys, s.Keys...), append(args, s.Args...)
	}
	return keys, args
}

// Exec sends the transaction once. Its keys and arguments are those of its steps.
func (t *Transaction) Exec(ctx context.Context, client rueidis.Client, _, _ []string) rueidis.RedisResult {
	return t.Fold(client.DoMulti(ctx, t.Build(client, false)...))
}

// ExecFresh sends the transaction once, on a connection of rueidis' blocking pool. On a cluster rueidis 1.0.79 panics where a
// slot moves under a blocking command of a transaction, so there it goes on the shared connection.
func (t *Transaction) ExecFresh(ctx context.Context, client rueidis.Client, _, _ []string) rueidis.RedisResult {
	return t.Fold(client.DoMulti(ctx, t.Build(client, client.Mode() != rueidis.ClientModeCluster)...))
}

// Build returns its commands, for a pipeline with others; if fresh, on a connection of rueidis' blocking pool.
func (t *Transaction) Build(client rueidis.Client, fresh bool) []rueidis.Completed {
	all := make([]rueidis.Completed, 0, len(t.steps)+2)
	all = append(all, client.B().Multi().Build())
	for _, s := range t.steps {
		all = append(all, s.build(client, s.Call, fresh))
	}
	return append(all, client.B().Exec().Build())
}

// Fold returns what the answers to its commands say of the transaction.
func (t *Transaction) Fold(answers []rueidis.RedisResult) rueidis.RedisResult {
	begun, exec := answers[0], answers[len(answers)-1]
	queued := answers[1 : len(answers)-1]
	if begun.NonRedisError() != nil {
		return begun
	}
	if begun.Error() != nil {
		return t.apart(begun, queued)
	}
	for _, q := range queued {
		if _, refused := rueidis.IsRedisErr(q.Error()); refused {
			return q
		}
	}
	if exec.Error() != nil {
		return exec
	}
	return t.ran(exec)
}

// apart returns the answer to a MULTI that was refused: the commands after it ran, each by itself.
func (t *Transaction) apart(begun rueidis.RedisResult, alone []rueidis.RedisResult) rueidis.RedisResult {
	if t.write == none {
		return begun
	}
	if _, refused := rueidis.IsRedisErr(alone[t.write].Error()); refused {
		return begun
	}
	return rueidis.NewErrorResult(&ApartError{t.label, begun.Error()})
}

// ran returns the answer to EXEC, or the error of the first command that has one.
func (t *Transaction) ran(exec rueidis.RedisResult) rueidis.RedisResult {
	all, err := exec.ToArray()
	if err != nil || len(all) != len(t.steps) {
		return rueidis.NewErrorResult(fmt.Errorf("%s: EXEC answered %d of %d commands: %w", t.label, len(all), len(t.steps), err))
	}
	for i := range all {
		err := all[i].Error()
		if err == nil || rueidis.IsRedisNil(err) {
			continue
		}
		if t.write != none && (all[t.write].Error() == nil || rueidis.IsRedisNil(all[t.write].Error())) {
			err = &ApartError{t.label, err}
		}
		return rueidis.NewErrorResult(err)
	}
	return exec
}

// ApartError says that the write of a transaction was done, and not what was read in the same step.
type ApartError struct {
	label string
	why   error
}

func (e *ApartError) Error() string {
	if strings.HasPrefix(e.why.Error(), "NOPERM") {
		return fmt.Sprintf("%s: the commands ran one by one, since the user may not send MULTI: grant multi and exec by the ACL: %v", e.label, e.why)
	}
	return fmt.Sprintf("%s: it was written, and a read of the same step failed: %v", e.label, e.why)
}

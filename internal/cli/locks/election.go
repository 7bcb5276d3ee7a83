package locks

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/inspect"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
)

func electionCommand(t *tool.Tool) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "election",
		Short: "Show elections and their leaders",
		Long: `election shows the elections that had a leader within a day, and the state of one, and
removes what is known of one. See "rueidisson elect --help" to lead one, and
"rueidisson observe --help" to follow it.`,
		Example: "  rueidisson election ls\n  rueidisson election info scheduler --json\n  rueidisson election rm scheduler",
		Args:    usage.NoSuchCommand,
		RunE:    func(*cobra.Command, []string) error { return exit.Usagef("a command is needed after election") },
	}
	cmd.AddCommand(inspect.ListCommand(t, electionObjects), inspect.InfoCommand(t, electionObjects),
		inspect.RemoveCommand(t, electionObjects, func(_ *rueidisson.Client, name string, _ inspect.Seen) tool.Removable { return &lastTerm{t, name} }))
	return cmd
}

// electionObjects are told by the keys of their terms.
var electionObjects = inspect.Objects{
	Noun: "election", Plural: "elections that had a leader within a day", Example: "scheduler",
	Kinds: []string{"election"}, Prefix: "rueidisson_term:", Type: "hash", Fenced: true,
	Removal: `
It removes what Redis has of the last term, which stays a day without rm. An election
that has a leader is refused: "rueidisson force-unlock NAME" deposes the leader, and the
next candidate leads then. The counter of fencing tokens stays: the numbers of later
terms have to be higher than all that were given.
`,
}

// lastTerm is what Redis knows of the last leader of an election.
type lastTerm struct {
	*tool.Tool
	name string
}

// forgetTerm removes a term, unless somebody leads. KEYS: the hash of the lock, the term.
var forgetTerm = rueidis.NewLuaScript(`
if redis.call('exists', KEYS[1]) == 1 then
	return -1
end
return redis.call('del', KEYS[2])`)

func (l *lastTerm) Name() string { return l.name }

// Delete removes the term. The answer to a second send of a lost reply may be that there was none.
func (l *lastTerm) Delete(ctx context.Context) (bool, error) {
	redis, err := l.Dial()
	if err != nil {
		return false, err
	}
	defer redis.Close()
	n, err := forgetTerm.Exec(ctx, redis, []string{l.name, inspect.Prefixed("rueidisson_term", l.name)}, nil).AsInt64()
	if err == nil && n < 0 {
		err = &exit.Error{Code: exit.Unavailable, Err: fmt.Errorf(`%q has a leader; "rueidisson force-unlock %s" deposes it`, l.name, l.name)}
	}
	return n > 0, err
}

package bloom

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// The commands of a filter. That of look.lua which no other has, GETBIT, is for servers without BITFIELD_RO.
var (
	scriptCommands = check.Script(initScript, addScript)
	sentCommands   = check.Sent(hmget, bitfieldRO, bitcount)
	stepCommands   = check.Named("multi", "exec")
)

// Check reports what would keep the filter from working: a name or an option that cannot be used, a key of another type, and
// what the server's ACL does not permit to this client's user. It asks for every command of every operation, and writes
// nothing. It does not look at the shape. The answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [ErrInvalidArgument]; rueidisson.ErrWrongKind;
// rueidisson.ErrNotPermitted; ctx's error and cause; [ErrClosed]; Redis' and the network's.
func (f *Filter[T]) Check(ctx context.Context) error {
	return check.Run(ctx, check.Object{
		Engine: f.o.Engine, Kind: f.o.Kind, Name: f.o.Name, Bad: f.o.Bad,
		Keys:     append(check.Keys(check.String, f.o.Key), check.Keys(check.Hash, f.config.Key)...),
		Commands: []check.Commands{scriptCommands, sentCommands, stepCommands, whole.ScriptCommands, whole.KeyCommands},
	})
}

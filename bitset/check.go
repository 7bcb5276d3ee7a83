package bitset

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/whole"
)

var (
	setCommands = check.Sent(getbit, setbit, bitfield, bitfieldRO, getrange)
	setScripts  = check.Scripts(lua, "lua/*.lua")
)

// Check reports what would keep the bitset from working: a name that cannot be used, a
// key of another type, and what the server's ACL does not permit to this client's user. It asks for
// every command of every operation. It writes nothing. The answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [ErrInvalidArgument]; rueidisson.ErrWrongKind;
// rueidisson.ErrNotPermitted; ctx's error and cause; [ErrClosed]; Redis' and the network's.
func (s *Set) Check(ctx context.Context) error {
	return check.Run(ctx, check.Object{
		Engine: s.o.Engine, Kind: s.o.Kind, Name: s.o.Name, Bad: s.o.Bad,
		Keys:     check.Keys(check.String, s.o.Key),
		Commands: []check.Commands{setCommands, setScripts, whole.ScriptCommands, whole.SizeCommands, whole.KeyCommands},
	})
}

package list

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/whole"
)

var (
	listCommands = check.Sent(llen, lpos, lindex, rpush, lpush, lrem, ltrim)
	listScripts  = check.Scripts(lua, "lua/*.lua")
)

// Check reports what would keep the list from working: a name or an option that cannot be used, a
// key of another type, and what the server's ACL does not permit to this client's user. It asks for
// every command of every operation. It writes nothing. It does not look at the elements, nor at the codec that wrote them. The answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [ErrInvalidArgument]; rueidisson.ErrWrongKind;
// rueidisson.ErrNotPermitted; ctx's error and cause; [ErrClosed]; Redis' and the network's.
func (l *List[T]) Check(ctx context.Context) error {
	return check.Run(ctx, check.Object{
		Engine: l.o.Engine, Kind: l.o.Kind, Name: l.o.Name, Bad: l.o.Bad,
		Keys:     check.Keys(check.List, l.o.Key),
		Commands: []check.Commands{listCommands, listScripts, whole.ScriptCommands, whole.SizeCommands, whole.KeyCommands},
	})
}

package multimap

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/hashscan"
	"github.com/rueidisson/rueidisson/internal/keys"
)

var (
	scriptCommands = check.Scripts(lua, "lua/*.lua")
	scanCommands   = check.Script(hashscan.Script, hashscan.ServerScript)
	plainCommands  = check.Sent(hashscan.Command, exists, hlen, pttl)
	forgetCommands = check.Named("unlink")
)

// Check reports what would keep the multimap from working: a name or an option that cannot be used, a key of another
// type, and what the server's ACL does not permit to this client's user. It asks for every command of every operation. It
// writes nothing, and does not compare codecs. The answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [ErrInvalidArgument]; [ErrWrongKind];
// rueidisson.ErrNotPermitted; ctx's error and cause; [ErrClosed]; Redis' and the network's.
func (m *List[K, V]) Check(ctx context.Context) error { return m.check(ctx, check.List) }

// Check reports what would keep the multimap from working, as [List.Check] does.
//
// Cost and errors: as List.Check.
func (m *Set[K, V]) Check(ctx context.Context) error { return m.check(ctx, check.Set) }

func (m *multi[K, V]) check(ctx context.Context, is string) error {
	return check.Run(ctx, check.Object{
		Engine: m.e, Kind: m.kind, Name: m.name, Bad: m.bad,
		Keys: append(append(check.Keys(check.Hash, m.names.index), check.Keys(check.ZSet, m.names.ends)...),
			check.Each(is, keys.ValuesOf(m.names.index, "")), check.Each(check.String, keys.MapDone(m.names.index, ""))),
		Commands: []check.Commands{scriptCommands, scanCommands, plainCommands, forgetCommands},
	})
}

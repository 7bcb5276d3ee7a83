package timeseries

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/whole"
)

var seriesScripts = check.Scripts(lua, "lua/*.lua")

// Check reports what would keep the time series from working: a name or an option that cannot be used, a
// key of another type, and what the server's ACL does not permit to this client's user. It asks for
// every command of every operation. It writes nothing. It does not look at the entries, nor at the codec that wrote them. The
// answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [ErrInvalidArgument]; rueidisson.ErrWrongKind;
// rueidisson.ErrNotPermitted; ctx's error and cause; [ErrClosed]; Redis' and the network's.
func (s *Series[T]) Check(ctx context.Context) error {
	all := check.Keys(check.ZSet, s.b.Key, keys.SeriesEnds(s.b.Key))
	all = append(all, check.Keys(check.Hash, keys.SeriesIDs(s.b.Key))...)
	all = append(all, check.Keys(check.String, keys.SweepLatch(s.b.Key))...)
	return check.Run(ctx, check.Object{
		Engine: s.b.Engine, Kind: s.b.Kind, Name: s.b.Object.Name, Bad: s.b.Bad, Keys: all,
		Commands: []check.Commands{seriesScripts, whole.ScriptCommands, whole.SizeCommands, whole.KeyCommands},
	})
}

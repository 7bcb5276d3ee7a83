package keyspace

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/check"
)

// Check reports what would keep the operations from working: a name mapper that keys cannot be told by, and what the server's
// ACL does not permit to this client's user. It asks for every command of every operation, with that name as an example of the
// names that are used. It writes nothing. On a cluster the server of that name answers. The answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [ErrInvalidArgument]; rueidisson.ErrNotPermitted; ctx's
// error and cause; [ErrClosed]; Redis' and the network's.
func (k *Keys) Check(ctx context.Context, name string) error {
	keys, err := k.keysOf(ctx, []string{name})
	if err == nil {
		err = k.naming.bad
	}
	if err != nil {
		return k.failedAt("check", []string{name}, err)
	}
	return check.Run(ctx, check.Object{
		Engine: k.e, Kind: "key", Name: name,
		Keys:     check.Keys("", keys...),
		Commands: []check.Commands{keyCommands, keyScripts, walkCommands},
	})
}

package bucket

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/whole"
)

var (
	valueCommands  = check.Sent(get, set, getdel, getex)
	updateCommands = check.Scripts(lua, "lua/compare_*.lua", "lua/change.lua")
	manyCommands   = check.Sent(mset, msetnx)
	manyScripts    = check.Scripts(lua, "lua/*_many.lua")
	bytesCommands  = check.Sent(getrange, setrange, appends)
	bytesScripts   = check.Scripts(lua, "lua/truncate.lua")
	sizeCommands   = check.Sent(strlen)
	jsonCommands   = check.Sent(jsonGet, jsonType, jsonObjKeys, jsonArrIndex, jsonSet, jsonDel, jsonClear, jsonMerge, jsonToggle, jsonStrAppend,
		jsonArrAppend, jsonArrTrim)
	jsonScripts = check.Scripts(lua, "lua/json_*.lua")
)

// check checks a bucket and further keys.
func (b *base) check(ctx context.Context, more []check.Key, commands ...check.Commands) error {
	is := check.String
	if b.Type == document {
		is = check.JSON
	}
	return check.Run(ctx, check.Object{
		Engine: b.Engine, Kind: b.Kind, Name: b.Name, Bad: b.Bad,
		Keys:     append(check.Keys(is, b.Key), more...),
		Commands: append(commands, whole.ScriptCommands, whole.SizeCommands, whole.KeyCommands),
	})
}

// claim returns the key by which an Update goes before others, if there can be one.
func (b *base) claim() []check.Key {
	if at := (site{b.h, place{key: b.Key}}); at.claims() {
		return check.Keys(check.String, at.Claim())
	}
	return nil
}

// Check reports what would keep the bucket from working: a name or an option that cannot be used, a
// key of another type, and what the server's ACL does not permit to this client's user. It asks for
// every command of every operation. It writes nothing. It does not look at the value, nor at the codec that wrote it. The
// answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [ErrInvalidArgument]; rueidisson.ErrWrongKind;
// rueidisson.ErrNotPermitted; ctx's error and cause; [ErrClosed]; Redis' and the network's.
func (b *Bucket[T]) Check(ctx context.Context) error {
	return b.b.check(ctx, b.b.claim(), valueCommands, updateCommands, sizeCommands)
}

// Check does what [Bucket.Check] does. Without the module it returns errors.ErrUnsupported.
//
// Cost: as [Bucket.Check], and one command. Errors: as [Bucket.Check], and errors.ErrUnsupported.
func (j *JSON[T]) Check(ctx context.Context) error {
	if err := j.b.check(ctx, j.b.claim(), jsonCommands, jsonScripts); err != nil || check.Lists(ctx) {
		return err
	}
	_, err := read(ctx, j.b, firstText, jsonType, root)
	return j.b.Failed("check", err)
}

// Check does what [Bucket.Check] does.
//
// Cost and errors: as [Bucket.Check].
func (b *Bytes) Check(ctx context.Context) error {
	return b.b.check(ctx, nil, bytesCommands, bytesScripts, sizeCommands)
}

// Check does what [Bucket.Check] does for the bucket of a name, as an example of the names that are used. On a cluster the
// server of that name answers.
//
// Cost and errors: as [Bucket.Check].
func (m *Many[T]) Check(ctx context.Context, name string) error {
	return newBase(m.h.e, "bucket", name, m.bad).check(ctx, nil, manyCommands, manyScripts, sizeCommands)
}

package counter

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// The commands of each kind.
var (
	wholeCommands   = []check.Commands{whole.ScriptCommands, whole.KeyCommands}
	slotCommands    = check.Script(slotAddScript, send.VoidScript)
	counterCommands = check.Script(addTTLScript, swapScript, takeScript, compareSwapScript, compareDeleteScript, boundScript)
	floatCommands   = check.Script(floatSwapScript, floatCompareScript)
	idsCommands     = check.Script(idsInitScript, idsBlockScript)

	numberCommands   = check.Sent(get, set, strlen)
	addCommands      = check.Sent(incrby)
	floatAddCommands = check.Sent(incrbyfloat)
	distinctCommands = check.Sent(pfadd, pfcount, pfmerge)
)

// check checks an object whose keys are strings; with slots if its adds have request slots.
func (c common) check(ctx context.Context, slots bool, commands ...check.Commands) error {
	o := check.Object{
		Engine: c.o.Engine, Kind: c.o.Kind, Name: c.o.Name, Bad: c.o.Bad,
		Keys: check.Keys(check.String, c.o.Keys...), Commands: append(commands, wholeCommands...),
	}
	if slots {
		o.Keys = append(o.Keys, check.Each(check.String, keys.Lane(c.o.Key, c.o.Engine.ClientID)))
		o.Commands = append(o.Commands, slotCommands)
	}
	return check.Run(ctx, o)
}

// Check reports what would keep the counter from working: a name or an option that cannot be used, a key of another type, and
// what the server's ACL does not permit to this client's user. It asks for every command of every operation, and writes
// nothing. It does not look at the number. The answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [ErrInvalidArgument]; rueidisson.ErrWrongKind;
// rueidisson.ErrNotPermitted; ctx's error and cause; [ErrClosed]; Redis' and the network's.
func (c *Counter) Check(ctx context.Context) error {
	return c.check(ctx, c.adds.counted, numberCommands, addCommands, counterCommands)
}

// Check does what [Counter.Check] does. Cost and errors: as [Counter.Check].
func (f *Float) Check(ctx context.Context) error {
	return f.check(ctx, false, numberCommands, floatAddCommands, floatCommands)
}

// Check does what [Counter.Check] does. Cost and errors: as [Counter.Check].
func (a *Adder) Check(ctx context.Context) error {
	return a.check(ctx, true, numberCommands)
}

// Check does what [Counter.Check] does, and looks at the block size. Cost and errors: as [Counter.Check].
func (g *IDs) Check(ctx context.Context) error {
	return g.check(ctx, false, check.Sent(strlen), idsCommands)
}

// Check does what [Counter.Check] does. That the key holds a string which is no HyperLogLog is not seen. Cost and errors: as
// [Counter.Check].
func (d *Distinct[T]) Check(ctx context.Context) error {
	return d.check(ctx, false, distinctCommands)
}

package jobs

import (
	"encoding/base64"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/internal/cli/values"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

const jobLong = `job adds jobs to a reliable queue, which a fleet shares, has commands do them, each at
least once, however many workers die, and shows what became of them.

The body of a job is written by a codec. All clients of a queue have to use the same
one. --codec F is text, bytes, json, msgpack, kryo5, jackson[:CLASS] or
jackson-msgpack[:CLASS]; without it they are msgpack. A body that has no text is shown
as JSON, and bytes that are no UTF-8 in base64, which --json tells by "base64":true.

Exit codes of all:
  0    done
  1    add: a duplicate, which was not added; redrive and purge: none was dead; cancel,
       rm, find, result, reschedule: there is no such job
  64   the command line cannot be understood
  69   the server cannot be reached, or refuses; NAME is something else`

const jobExample = `  rueidisson job add mails '{"to":"ann"}' --as json --group ann
  find . -name '*.raw' | rueidisson job add photos -
  rueidisson job work photos --concurrency 4 -- sh -c 'read -r f; convert "$f" "$f.jpg"'
  rueidisson job dead photos --json
  rueidisson job redrive photos`

// Commands returns the command of reliable queues.
func Commands(t *tool.Tool) []*cobra.Command {
	return []*cobra.Command{jobCommand(t)}
}

func jobCommand(t *tool.Tool) *cobra.Command {
	j := &jobCall{Tool: t}
	cmd := &cobra.Command{
		Use:     "job",
		Short:   "Add jobs to a reliable queue, have commands do them, look after them",
		Long:    jobLong,
		Example: jobExample,
		Args:    usage.NoSuchCommand,
		RunE:    func(*cobra.Command, []string) error { return exit.Usagef("a command is needed after job") },
	}
	cmd.PersistentFlags().StringVar(&j.codec, "codec", "msgpack", "`F` of the bodies")
	cmd.AddCommand(j.addCommand(), j.workCommand(), j.statsCommand(), j.listCommand(), j.watchCommand(),
		j.pauseCommand(), j.resumeCommand(), j.deadCommand(), j.redriveCommand(), j.purgeCommand(), j.termsCommand(),
		j.cancelCommand(), j.rmCommand(), j.findCommand(), j.resultCommand(), j.rescheduleCommand(), j.queuesCommand())
	usage.LetSwitchesStandFirst(cmd, Switches)
	return cmd
}

// Switches are the flags without a value.
var Switches = []string{"dead", "drain", "fair", "now"}

// jobCall is one command of job.
type jobCall struct {
	*tool.Tool
	codec  string
	bodies codec.Family
}

// jobs is a queue as the command line has it: it is the one that knows the codec.
type jobs = reliable.Queue[jobBody]

// with runs do on the queue.
func (j *jobCall) with(name string, do func(q *jobs) error, opts ...reliable.Option) error {
	if err := j.family(); err != nil {
		return err
	}
	opts = append(opts, reliable.WithValueCodec[jobBody](jobCodec{j.bodies}))
	return j.WithClient(func(c *rueidisson.Client) error {
		return do(reliable.New[jobBody](c, name, opts...))
	})
}

func (j *jobCall) family() (err error) {
	if j.bodies, err = codec.ParseFamily(j.codec); err != nil {
		return exit.Usagef("--codec %s: %v", j.codec, err)
	}
	return nil
}

// jobBody is the body of a job: its bytes, if it is to be added, and what they stand
// for, if it was read.
type jobBody struct {
	bytes string
	shown values.Value
}

// input returns what a CMD gets.
func (b jobBody) input() string {
	if b.shown.Base64 {
		raw, err := base64.StdEncoding.DecodeString(b.shown.Text)
		if err == nil {
			return string(raw)
		}
	}
	return b.shown.Text
}

// jobCodec has the library find out what does not decode, which it buries.
type jobCodec struct{ codec.Family }

func (c jobCodec) Append(dst []byte, b jobBody) ([]byte, error) { return append(dst, b.bytes...), nil }

func (c jobCodec) Decode(b []byte) (jobBody, error) {
	shown, err := values.Decode(c.Family, string(b))
	return jobBody{shown: shown}, err
}

package reliable

// serving is what the options of a Serve say.
type serving struct{ policy policy }

// A ServeOption changes one Serve.
type ServeOption interface{ applyServe(*serving) error }

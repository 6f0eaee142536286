package kinds

import _ "github.com/volnode/volnode/engine/plugin/nfs"

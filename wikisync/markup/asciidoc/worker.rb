# The child process that holds Asciidoctor itself, as the service runs it.
#
# Arguments are the limits: seconds by the clock and bytes of memory.  Messages are
# those of worker.py.  What the service sets around Asciidoctor is the same as in
# convert.js; a change to one of the two is a change to both.

require "asciidoctor"
require "json"
require "timeout"

HIGHLIGHTER = "gitlab-html-pipeline"
DIAGRAMS = %w[mermaid plantuml graphviz ditaa].freeze
HOSTED = %w[youtube vimeo wistia].freeze
INCLUDES_MAX = 32

def escape(value)
  value.to_s.gsub("&", "&amp;").gsub('"', "&quot;").gsub("<", "&lt;")
end

def id_attribute(node)
  node.id ? %( id="#{escape(node.id)}") : ""
end

def code_block(language, content)
  return "<pre><code>#{content}</code></pre>" unless language

  %(<pre data-canonical-lang="#{escape(language)}"><code>#{content}</code></pre>)
end

class Highlighter < Asciidoctor::SyntaxHighlighter::Base
  register_for HIGHLIGHTER

  def format(node, language, _options)
    code_block(language, node.content)
  end
end

class Converter < (Asciidoctor::Converter.for "html5")
  register_for "html5"

  def convert_stem(node)
    return super unless node.style == "latexmath"

    %(<pre#{id_attribute(node)} data-math-style="display"><code>#{node.content}</code></pre>)
  end

  def convert_inline_quoted(node)
    return super unless node.type == :latexmath

    %(<code#{id_attribute(node)} data-math-style="inline">#{node.text}</code>)
  end

  def convert_listing(node)
    DIAGRAMS.include?(node.style) ? code_block(node.style, node.content) : super
  end

  def convert_literal(node)
    DIAGRAMS.include?(node.style) ? code_block(node.style, node.content) : super
  end

  def convert_video(node)
    HOSTED.include?(node.attr("poster")) ? super : player(node, "video")
  end

  def convert_audio(node)
    player(node, "audio")
  end

  private

  def player(node, kind)
    source = escape(node.media_uri(node.attr("target")))
    title = node.title? ? %(<div class="title">#{node.title}</div>\n) : ""
    %(<div#{id_attribute(node)} class="#{kind}block">\n#{title}<div class="content">\n) +
      %(<img src="#{source}" alt="#{source}">\n</div>\n</div>)
  end
end

class WikiIncludes < Asciidoctor::Extensions::IncludeProcessor
  def initialize(ask)
    super({})
    @ask = ask
    @asked = []  # Asciidoctor freezes what it registers, this can still grow
  end

  def handles?(_target)
    true
  end

  def process(_document, reader, target, attributes)
    @asked << target
    answer = @asked.length > INCLUDES_MAX ? {} : @ask.call(request(reader, target, attributes))
    if answer["text"].nil?
      return if attributes.key?("optional-option")

      reader.unshift_line("*[ERROR: include::#{target}[] - unresolved directive]*")
    else
      reader.push_include(answer["text"], answer["path"], answer["path"], 1, attributes)
    end
  end

  private

  def request(reader, target, attributes)
    {
      "target" => target,
      "includer" => reader.file.to_s,
      "depth" => reader.instance_variable_get(:@include_stack).length,
      "lines" => attributes["lines"],
      "tags" => attributes["tags"] || attributes["tag"]
    }
  end
end

def read_frame
  head = $stdin.read(4)
  return nil if head.nil? || head.bytesize < 4

  JSON.parse($stdin.read(head.unpack1("N")).force_encoding(Encoding::UTF_8))
end

def write_frame(message)
  body = JSON.generate(message).b
  ANSWERS.write([body.bytesize].pack("N"), body)
  ANSWERS.flush
end

def render(page)
  ask = lambda do |request|
    write_frame("include" => request)
    read_frame || exit(0)
  end
  alone = page["is_alone"]
  registry = Asciidoctor::Extensions.create do
    include_processor(WikiIncludes.new(ask)) unless alone
  end
  Asciidoctor.convert(
    page["source"],
    safe: :secure, standalone: false, logger: false,
    attributes: page["attributes"], extension_registry: registry
  )
end

$stdin.binmode
$stdout.binmode
ANSWERS = $stdout.dup.binmode
$stdout.reopen($stderr)
trap("INT", "IGNORE")
Asciidoctor::LoggerManager.logger = Asciidoctor::NullLogger.new
Process.setrlimit(Process::RLIMIT_AS, Integer(ARGV[1]) + (512 << 20))
Process.setrlimit(Process::RLIMIT_FSIZE, 0)
write_frame("ready" => true)
while (page = read_frame)
  # the signal at the soft limit ends the process; it counts whole seconds
  used = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  hard = Process.getrlimit(Process::RLIMIT_CPU)[1]
  Process.setrlimit(Process::RLIMIT_CPU, [(used + Float(page["seconds_max"])).ceil, hard].min, hard)
  begin
    html = Timeout.timeout(Float(ARGV[0])) { render(page) }
  rescue StandardError, SystemStackError, NoMemoryError => error
    reason = error.message.lines.first.to_s.strip
    write_frame("error" => reason, "is_memory" => error.is_a?(NoMemoryError))
    exit
  end
  write_frame("html" => html)
end
